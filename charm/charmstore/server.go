package charmstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/loggo"

	"juju/charm/charmhub"
	"juju/state/entity"
)

var logger = loggo.GetLogger("juju.charmstore")

// A Server serves a Directory.
type Server struct {
	dir    *Directory
	tokens *tokens
	// public is where clients find the store; "" is where they have asked.
	public string
	mux    *http.ServeMux
}

// Paths of what the server has beyond the protocol: downloads, and what publishes.
const (
	charmDownloads    = "/download/charm/"    // NAME_rREVISION.charm
	resourceDownloads = "/download/resource/" // NAME/RESOURCE/REVISION
)

const (
	maxQuestion = 4 << 20 // bytes of a refresh
	maxActions  = 10_000  // of a refresh
)

// NewServer returns a server of a directory. public is its URL for clients, if that is not where they reach it, as behind a proxy.
func NewServer(dir *Directory, public string) *Server {
	s := &Server{dir: dir, tokens: &tokens{dir: dir}, public: strings.TrimRight(public, "/"), mux: http.NewServeMux()}
	s.mux.HandleFunc("GET "+charmhub.InfoPath+"{name}", s.answer(s.info))
	s.mux.HandleFunc("GET "+charmhub.FindPath, s.answer(s.findCharms))
	s.mux.HandleFunc("POST "+charmhub.RefreshPath, s.answer(s.refresh))
	s.mux.HandleFunc("GET "+charmhub.ResourcesPath+"{name}/{resource}/revisions", s.answer(s.resources))
	s.mux.HandleFunc("GET "+charmDownloads+"{file}", s.serveCharm)
	s.mux.HandleFunc("GET "+resourceDownloads+"{name}/{resource}/{revision}", s.serveResource)
	s.publishing()
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		reply(w, http.StatusNotFound, charmhub.ErrorReply{Errors: []charmhub.Error{{Code: charmhub.CodeNotFound, Message: "there is no " + r.URL.Path}}})
	})
	return s
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// A refusal is an error with its code of the protocol.
type refusal struct {
	said   charmhub.Error
	status int // of a request; an action's is 200
}

func (r *refusal) Error() string { return r.said.Message }

func refuse(status int, code, format string, args ...any) *refusal {
	return &refusal{charmhub.Error{Code: code, Message: fmt.Sprintf(format, args...)}, status}
}

// answer serves a question with what a function returns.
func (s *Server) answer(f func(r *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		result, err := f(r)
		if err == nil {
			reply(w, http.StatusOK, result)
			return
		}
		no := refusalOf(err)
		if no.status >= 500 && r.Context().Err() == nil {
			logger.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		reply(w, no.status, charmhub.ErrorReply{Errors: []charmhub.Error{no.said}})
	}
}

// refusalOf returns what a client is told of an error.
func refusalOf(err error) *refusal {
	var no *refusal
	switch {
	case errors.As(err, &no):
		return no
	case entity.IsNotFound(err):
		return refuse(http.StatusNotFound, charmhub.CodeNotFound, "%v", err)
	case errors.Is(err, entity.Unauthorized):
		return refuse(http.StatusUnauthorized, codeUnauthorized, "%v", err)
	case errors.Is(err, entity.Invalid), errors.Is(err, entity.AlreadyExists):
		return refuse(http.StatusBadRequest, charmhub.CodeBadArgument, "%v", err)
	}
	return refuse(http.StatusInternalServerError, charmhub.CodeAPI, "the store has failed: its log says why")
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		logger.Debugf("a reply was not taken: %v", err)
	}
}

// at returns the URL of the store, as the client of a request reaches it.
func (s *Server) at(r *http.Request) string {
	switch {
	case s.public != "":
		return s.public
	case r.TLS != nil:
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

func unread(name string, err error) { logger.Warningf("the charm %s is left out: %v", name, err) }

func (s *Server) info(r *http.Request) (any, error) {
	e, err := s.dir.find(r.Context(), r.PathValue("name"))
	if entity.IsNotFound(err) {
		return nil, refuse(http.StatusNotFound, charmhub.CodeNotFound, "%v", err)
	} else if err != nil {
		return nil, err
	}
	all := e.list()
	if text := r.URL.Query().Get("channel"); text != "" {
		c, err := charmhub.ParseChannel(text)
		if err != nil {
			return nil, refuse(http.StatusBadRequest, charmhub.CodeInvalidChannel, "%v", err)
		}
		c = c.In(e.defaultTrack())
		all = slices.DeleteFunc(all, func(one listed) bool { return one.Channel != c })
	}
	info, err := s.describe(e, true)
	for _, one := range all {
		info.ChannelMap = append(info.ChannelMap, one.message())
	}
	return info, err
}

// describe returns what the store has of a charm as a whole: its default release with the charm's texts, if they are wanted.
func (s *Server) describe(e *entry, withTexts bool) (info charmhub.Info, err error) {
	latest := e.Revisions[len(e.Revisions)-1]
	info = charmhub.Info{Type: "charm", ID: e.ID, Name: e.name, Result: charmhub.Result{Summary: latest.Summary}}
	if e.Publisher != "" {
		info.Result.Publisher = map[string]string{"display-name": e.Publisher}
	}
	usual, ok := e.usual()
	if !ok {
		return info, nil
	}
	info.DefaultRelease, info.Result.Summary = usual.message(), usual.Summary
	info.DefaultRelease.Revision.Bases = usual.basesOf()
	if withTexts {
		files, err := texts(s.dir.charmPath(e.name, usual.revision.Revision), "metadata.yaml", "config.yaml")
		if err != nil {
			return info, err
		}
		info.DefaultRelease.Revision.MetadataYAML, info.DefaultRelease.Revision.ConfigYAML = files["metadata.yaml"], files["config.yaml"]
	}
	return info, nil
}

// message returns a release as info and find have it.
func (l listed) message() charmhub.Release {
	return charmhub.Release{
		Channel: charmhub.ListedChannel{Name: l.Listed(), Base: l.base, ReleasedAt: stampOf(l.ReleasedAt), Risk: l.Risk, Track: l.Track},
		Revision: charmhub.Revision{Revision: l.revision.Revision, Version: strconv.Itoa(l.revision.Revision), CreatedAt: stampOf(l.CreatedAt),
			Bases: []charmhub.Base{l.base}, Download: charmhub.File{Size: l.Size}},
	}
}

func stampOf(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000+00:00") }

func (s *Server) findCharms(r *http.Request) (any, error) {
	q := r.URL.Query()
	all, err := s.dir.all(r.Context(), unread)
	if err != nil {
		return nil, err
	}
	if kind := q.Get("type"); kind != "" && kind != "charm" {
		all = nil // there are no bundles
	}
	reply := charmhub.Found{Results: []charmhub.Info{}}
	text := strings.ToLower(q.Get("q"))
	for _, e := range all {
		usual, released := e.usual()
		if !released || !strings.Contains(e.name, text) && !strings.Contains(strings.ToLower(usual.Summary), text) {
			continue
		}
		if !e.wanted(usual.revision, q.Get) {
			continue
		}
		info, err := s.describe(e, false)
		if err != nil {
			return nil, err
		}
		reply.Results = append(reply.Results, info)
	}
	slices.SortStableFunc(reply.Results, func(a, b charmhub.Info) int { // the charm that is meant comes first
		return rank(text, a.Name) - rank(text, b.Name)
	})
	return reply, nil
}

// wanted reports whether a charm fits the other conditions of a query.
func (e *entry) wanted(usual *revision, asked func(string) string) bool {
	if c := asked("category"); c != "" && c != "featured" { // there are no categories, so all are put first
		return false
	}
	if p := asked("publisher"); p != "" && !strings.EqualFold(p, e.Publisher) {
		return false
	}
	for key, of := range map[string]string{"relation-provides": "provides", "relation-requires": "requires"} {
		if name := asked(key); name != "" && !slices.Contains(usual.Interface[of], name) {
			return false
		}
	}
	if p := asked("platforms"); p != "" && !slices.ContainsFunc(usual.basesOf(), func(b charmhub.Base) bool { return b.Name == p || b.Architecture == p }) {
		return false
	}
	if text := asked("channel"); text != "" {
		c, err := charmhub.ParseChannel(text)
		return err == nil && len(e.releasedIn(c)) > 0
	}
	return true
}

func rank(text, name string) int {
	switch {
	case name == text:
		return 0
	case strings.HasPrefix(name, text):
		return 1
	}
	return 2
}

func (s *Server) resources(r *http.Request) (any, error) {
	e, err := s.dir.find(r.Context(), r.PathValue("name"))
	if err != nil {
		return nil, err
	}
	name := r.PathValue("resource")
	revisions := e.Resources[name]
	if len(revisions) == 0 {
		return nil, refuse(http.StatusNotFound, charmhub.CodeResourceNotFound, "charm %s has no resource %s", e.name, entity.Named(name))
	}
	reply := charmhub.Resources{}
	for _, one := range slices.Backward(revisions) {
		reply.Revisions = append(reply.Revisions, s.resource(r, e, name, one))
	}
	return reply, nil
}

func (s *Server) resource(r *http.Request, e *entry, name string, one resource) charmhub.Resource {
	return charmhub.Resource{Name: name, Type: "file", Filename: one.Filename, Revision: one.Revision, Download: charmhub.File{
		URL: fmt.Sprintf("%s%s%s/%s/%d", s.at(r), resourceDownloads, e.name, name, one.Revision), Size: one.Size,
		HashSHA256: one.SHA256, HashSHA384: one.SHA384}}
}

func (s *Server) serveCharm(w http.ResponseWriter, r *http.Request) {
	m := charmFile.FindStringSubmatch(r.PathValue("file"))
	if m == nil {
		http.NotFound(w, r)
		return
	}
	n, _ := strconv.Atoi(m[2])
	e, err := s.dir.find(r.Context(), m[1])
	if err != nil || e.revision(n) == nil {
		http.NotFound(w, r)
		return
	}
	serveFile(w, r, s.dir.charmPath(e.name, n), e.revision(n).Content)
}

func (s *Server) serveResource(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("revision"))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	e, err := s.dir.find(r.Context(), r.PathValue("name"))
	if err != nil || e.resource(r.PathValue("resource"), n) == nil {
		http.NotFound(w, r)
		return
	}
	serveFile(w, r, s.dir.resourcePath(e.name, r.PathValue("resource"), n), e.resource(r.PathValue("resource"), n).Content)
}

// serveFile sends a file, or the part that is asked for.
func serveFile(w http.ResponseWriter, r *http.Request, path string, c Content) {
	w.Header().Set("ETag", `"`+c.SHA256+`"`)
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Cache-Control", "public, immutable, max-age=31536000")
	f, err := http.Dir(filepath.Dir(path)).Open("/" + filepath.Base(path))
	if err != nil {
		http.NotFound(w, r)
		return
	}
	defer f.Close()
	http.ServeContent(w, r, "", c.CreatedAt, f)
}

func (s *Server) refresh(r *http.Request) (any, error) {
	var q charmhub.RefreshRequest
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxQuestion)).Decode(&q); err != nil {
		return nil, refuse(http.StatusBadRequest, charmhub.CodeBadArgument, "cannot read the request: %v", err)
	}
	if q.Context == nil {
		return nil, refuse(http.StatusBadRequest, charmhub.CodeMissingContext, "the field context is missing")
	}
	if len(q.Actions) > maxActions {
		return nil, refuse(http.StatusBadRequest, charmhub.CodeBadArgument, "there are more than %d actions", maxActions)
	}
	installed, keys := map[string]charmhub.Context{}, map[string]bool{}
	for _, c := range q.Context {
		installed[c.InstanceKey] = c
	}
	answers := charmhub.RefreshReply{Errors: []charmhub.Error{}, Results: []charmhub.Answer{}}
	for _, a := range q.Actions {
		switch {
		case a.InstanceKey == "":
			return nil, refuse(http.StatusBadRequest, charmhub.CodeMissingKey, "an action has no instance-key")
		case keys[a.InstanceKey]:
			return nil, refuse(http.StatusBadRequest, charmhub.CodeDuplicateKey, "two actions have the instance-key %s", a.InstanceKey)
		}
		keys[a.InstanceKey] = true
		answer, err := s.act(r, a, installed)
		if err != nil {
			var no *refusal
			if !errors.As(err, &no) {
				return nil, err
			}
			answer = charmhub.Answer{Result: "error", ID: a.ID, Name: a.Name, Error: &no.said}
		}
		answer.InstanceKey = a.InstanceKey
		answers.Results = append(answers.Results, answer)
	}
	return answers, nil
}

// charmOf returns the charm that an action names.
func (s *Server) charmOf(ctx context.Context, id, name string) (e *entry, err error) {
	code := charmhub.CodeNameNotFound
	if id != "" {
		code = charmhub.CodeIDNotFound
		e, err = s.dir.byID(ctx, id, unread)
	} else {
		e, err = s.dir.find(ctx, name)
	}
	if entity.IsNotFound(err) {
		return nil, refuse(http.StatusOK, code, "No charm or bundle with %s was found.", what(id, name))
	}
	return e, err
}

func what(id, name string) string {
	if id != "" {
		return fmt.Sprintf("id %q", id)
	}
	return fmt.Sprintf("name %q", name)
}

// act returns the answer to an action.
func (s *Server) act(r *http.Request, a charmhub.Action, installed map[string]charmhub.Context) (answer charmhub.Answer, err error) {
	if !slices.Contains([]string{charmhub.Install, charmhub.Download, charmhub.Refresh}, a.Action) {
		return answer, refuse(http.StatusOK, charmhub.CodeBadArgument, "there is no action %q", a.Action)
	}
	channel, asked := a.Channel, a.Base
	if a.Action == charmhub.Refresh {
		was, ok := installed[a.InstanceKey]
		if !ok {
			return answer, refuse(http.StatusOK, charmhub.CodeMissingContext, "the action has no context with its instance-key")
		}
		if a.ID == "" {
			a.ID = was.ID
		}
		if channel == "" {
			channel = was.TrackingChannel
		}
		if asked == nil {
			asked = &was.Base
		}
	}
	e, err := s.charmOf(r.Context(), a.ID, a.Name)
	if err != nil {
		return answer, err
	}
	f, in, err := e.choose(a.Revision, channel, asked)
	if err != nil {
		return answer, err
	}
	ch, err := s.charm(r, e, f, a.Resources)
	if err != nil {
		return answer, err
	}
	answer = charmhub.Answer{Result: a.Action, ID: e.ID, Name: e.name, Entity: ch}
	if in.Risk != "" {
		answer.EffectiveChannel, answer.ReleasedAt = in.Listed(), stampOf(f.ReleasedAt)
	}
	return answer, nil
}

// choose returns the revision that an action asks for, by its number or in a channel for a base.
func (e *entry) choose(n *int, channel string, asked *charmhub.Base) (f found, in charmhub.Channel, err error) {
	none := refuse(http.StatusOK, charmhub.CodeRevisionNotFound, "No revision was found in the Store.")
	none.said.Extra.Releases = e.offered()
	if n != nil {
		rev := e.revision(*n)
		if rev == nil {
			return f, in, none
		}
		return found{revision: rev}, in, nil
	}
	if channel == "" {
		channel = charmhub.Risks[0]
	}
	if in, err = charmhub.ParseChannel(channel); err != nil {
		return f, in, refuse(http.StatusOK, charmhub.CodeInvalidChannel, "%v", err)
	}
	if asked == nil {
		return f, in, refuse(http.StatusOK, charmhub.CodeBadArgument, "an action by channel needs a base")
	}
	bases := e.bases(in, asked.Architecture)
	if asked.IsAny() && !slices.ContainsFunc(bases, func(b charmhub.Base) bool { return b.Name == "all" }) && len(bases) > 0 {
		no := refuse(http.StatusOK, charmhub.CodeInvalidBase, "The base must be one of those in default-bases.")
		no.said.Extra.DefaultBases = bases
		return f, in, no
	}
	f, at, ok := e.pick(in, *asked)
	if !ok {
		return f, in, none
	}
	return f, at, nil
}

// charm returns a revision as refresh has it, with the resources of its release or those that are asked for.
func (s *Server) charm(r *http.Request, e *entry, f found, asked []charmhub.ResourceRevision) (*charmhub.Charm, error) {
	n := f.revision.Revision
	files, err := texts(s.dir.charmPath(e.name, n), "metadata.yaml", "config.yaml", "actions.yaml")
	if err != nil {
		return nil, err
	}
	if files["config.yaml"] == "" {
		files["config.yaml"] = "{}\n"
	}
	ch := &charmhub.Charm{Type: "charm", ID: e.ID, Name: e.name, Revision: n, Version: strconv.Itoa(n), Bases: f.basesOf(),
		Download: charmhub.File{URL: fmt.Sprintf("%s%s%s_r%d.charm", s.at(r), charmDownloads, e.name, n), Size: f.Size,
			HashSHA256: f.SHA256, HashSHA384: f.SHA384},
		Resources: []charmhub.Resource{}, MetadataYAML: files["metadata.yaml"], ConfigYAML: files["config.yaml"],
		ActionsYAML: files["actions.yaml"], Summary: f.Summary, CreatedAt: stampOf(f.CreatedAt)}
	if e.Publisher != "" {
		ch.Publisher = map[string]string{"display-name": e.Publisher}
	}
	chosen := map[string]int{}
	maps.Copy(chosen, f.Resources)
	for _, one := range asked {
		chosen[one.Name] = one.Revision
	}
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		one := e.resource(name, chosen[name])
		if one == nil {
			return nil, refuse(http.StatusOK, charmhub.CodeResourceNotFound, "charm %s has no revision %d of a resource %s", e.name, chosen[name],
				entity.Named(name))
		}
		ch.Resources = append(ch.Resources, s.resource(r, e, name, *one))
	}
	return ch, nil
}
