package apiserver

import (
	"net/http"
	"os"
	"time"
)

// BinariesPath is the path, followed by the archive's SHA-256, at which new machines download the agent binaries. The
// machines have no login yet, and the binaries are no secret.
const BinariesPath = "/tools/"

// serveBinaries serves a download of the binaries. Downloads have a separate limit, because anyone can request them;
// beyond it clients are told to try again, as the script of new machines does.
func (s *Server) serveBinaries(w http.ResponseWriter, r *http.Request) {
	release, err := s.downloads.Take(r.Context(), s.limits.DownloadWait)
	if err != nil {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many downloads at once", http.StatusServiceUnavailable)
		return
	}
	defer release()
	defer netConnOf(r.Context()).Busy()()
	path := s.archive(r.PathValue("sha256")) // which may have to be copied from the store
	if path == "" {
		http.NotFound(w, r)
		return
	}
	file, err := os.Open(path)
	if err != nil {
		logger.Errorf("cannot send the agent binaries to %s: %v", r.RemoteAddr, err)
		http.Error(w, "the agent binaries cannot be read", http.StatusInternalServerError)
		return
	}
	defer file.Close()
	control := http.NewResponseController(w)
	if err := control.SetWriteDeadline(time.Now().Add(s.limits.DownloadTime)); err != nil {
		logger.Warningf("the download of agent binaries by %s has no time limit: %v", r.RemoteAddr, err)
	}
	w.Header().Set("Content-Type", "application/gzip")
	http.ServeContent(w, r, "", time.Time{}, file)
}

// archive returns the file with the archive of binaries that has this hash, or "" if there is none. Models that were
// not upgraded with their controller start machines with older binaries.
func (s *Server) archive(sha256 string) string {
	if p := s.config.Binaries; p != nil && p.SHA256 == sha256 {
		return p.Path
	}
	if s.config.Upgrades != nil {
		return s.config.Upgrades.Archive(sha256)
	}
	return ""
}
