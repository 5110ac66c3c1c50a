package lxd

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"juju/provider"
	"juju/state/entity"
)

// errSlow means that a request timed out.
var errSlow = errors.New("it does not respond in time")

// An apiError is an error response from LXD, or the error of a failed operation.
type apiError struct {
	status int // HTTP status; 0 for an operation
	text   string
	cause  error // what the server's host lacks; nil for nothing
}

func (r *apiError) Error() string { return r.text }
func (r *apiError) Unwrap() error { return r.cause }

// transientErrors are substrings of LXD's messages for transient errors. The socket is that of the process through which
// LXD reaches a container's files: where that has just exited, LXD responds that the socket is not found, as it does for a
// file of the container.
var transientErrors = []string{"is busy", "busy running", "already running", "context deadline exceeded", "timed out",
	"timeout", "database is locked", "connection refused", "try again", "in progress", "in use", "forkfile.sock"}

// permanentErrors are substrings of its messages for operations that fail until someone intervenes.
var permanentErrors = []string{"Invalid ", "doesn't exist", "not found", "not supported", "No storage pool", "isn't allowed",
	"not allowed"}

// responseError returns the error for a response with an HTTP error status: retryable, Invalid, Unauthorized
// or NotSupported. LXD responds with 500 to most requests that can never succeed too, so that its text decides.
func responseError(status int, text string) error {
	r := &apiError{status: status, text: text}
	switch {
	case isShortage(r) || mentions(text, transientErrors):
		return provider.Retryable(r)
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return entity.Errorf(entity.Unauthorized, "%w", r)
	case status == http.StatusNotImplemented:
		return entity.Errorf(entity.NotSupported, "%w", r)
	case status == http.StatusBadRequest, status == http.StatusNotFound, status == http.StatusMethodNotAllowed,
		status == http.StatusInternalServerError && mentions(text, permanentErrors):
		return entity.Errorf(entity.Invalid, "%w", r)
	}
	return provider.Retryable(r)
}

// operationError returns the error for a failed operation, for which LXD gives only a message. Unknown errors
// are treated as transient.
func operationError(text string) error {
	r := &apiError{text: text}
	if isShortage(r) || mentions(text, transientErrors) || !mentions(text, permanentErrors) {
		return provider.Retryable(r)
	}
	return entity.Errorf(entity.Invalid, "%w", r)
}

func mentions(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// shortages are substrings of LXD's messages for what its host lacks, in lower case.
var shortages = map[string]error{"no space left": syscall.ENOSPC, "disk quota exceeded": syscall.ENOSPC,
	"too many open files": syscall.EMFILE, "cannot allocate memory": syscall.ENOMEM,
	"resource temporarily unavailable": syscall.EAGAIN}

// isShortage reports whether the server's host lacks something, and sets r.cause if so.
func isShortage(r *apiError) bool {
	text := strings.ToLower(r.text)
	for part, cause := range shortages {
		if strings.Contains(text, part) {
			r.cause = cause
		}
	}
	return r.cause != nil
}

// isNotFound reports whether an object does not exist.
func isNotFound(err error) bool {
	var r *apiError
	return errors.As(err, &r) && !mentions(r.text, transientErrors) && (r.status == http.StatusNotFound ||
		r.status == 0 && strings.Contains(r.text, "not found"))
}

// unreachable returns the error for a request that got no response.
func (c *client) unreachable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		if !errors.Is(cause, errSlow) {
			return ctx.Err()
		}
		err = cause
	}
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	err2 := fmt.Errorf("LXD at %s: %w", c.endpoint, err)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return entity.WithHint(entity.Errorf(entity.Unauthorized, "%w", err2),
			"Only root and the members of LXD's group can use its socket.")
	case errors.Is(err, errOtherServer), errors.As(err, &verify), errors.As(err, &authority):
		return entity.Errorf(entity.Invalid, "%w", err2)
	}
	return provider.Retryable(err2)
}
