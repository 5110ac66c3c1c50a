package apiserver

import (
	"net/http"
	"os"
	"time"
)

// BinariesPath is the path, before the archive's SHA-256, at which new machines download the
// programs of agents. They have no login yet, and the programs are no secret.
const BinariesPath = "/tools/"

// serveBinaries answers a download of the programs. Downloads have a limit of their own, since
// anyone can ask; more are told to try again, as the script of new machines does.
func (s *Server) serveBinaries(w http.ResponseWriter, r *http.Request) {
	path := s.archive(r.PathValue("sha256"))
	if path == "" {
		http.NotFound(w, r)
		return
	}
	release, err := s.downloads.take(r.Context(), s.limits.DownloadWait)
	if err != nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many downloads at once", http.StatusServiceUnavailable)
		return
	}
	defer release()
	defer guestOf(r.Context()).busy()()
	file, err := os.Open(path)
	if err != nil {
		logger.Errorf("cannot hand the agents' programs to %s: %v", r.RemoteAddr, err)
		http.Error(w, "the programs cannot be read", http.StatusInternalServerError)
		return
	}
	defer file.Close()
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(s.limits.DownloadTime)); err != nil {
		logger.Warningf("the download of agents' programs by %s has no limit: %v", r.RemoteAddr, err)
	}
	w.Header().Set("Content-Type", "application/gzip")
	http.ServeContent(w, r, "", time.Time{}, file)
}

// archive returns the file with the archive of programs that has this hash, "" if there is none. Models
// that were not upgraded with their controller start machines with the programs from before.
func (s *Server) archive(sha256 string) string {
	if p := s.config.Binaries; p != nil && p.SHA256 == sha256 {
		return p.Path
	}
	if s.config.Upgrades != nil {
		return s.config.Upgrades.Archive(sha256)
	}
	return ""
}
