package limits

import (
	"fmt"
	"math"
	"slices"
	"time"

	"juju/state/entity"
)

// CheckStatusWord returns an Invalid error unless the word is one of words.
func CheckStatusWord(word entity.StatusWord, words []entity.StatusWord) error {
	if slices.Contains(words, word) {
		return nil
	}
	return entity.Errorf(entity.Invalid, "cannot set invalid status %q, expected one of %v",
		StatusWord.Cut(string(word)), words)
}

// CheckStatus returns an Invalid error for a status that can't be stored. It ignores Since, which
// the controller sets.
func CheckStatus(s entity.Status) error {
	if s.Status == "" {
		return entity.Errorf(entity.Invalid, "status: it is empty")
	}
	if err := StatusWord.CheckText(string(s.Status)); err != nil {
		return err
	}
	if err := StatusMessage.CheckText(s.Message); err != nil {
		return err
	}
	_, err := checkData(s.Data, 0)
	return err
}

// FitStatus returns the status in a form that CheckStatus accepts. A hook's last line and a cloud's
// error can be anything: it cuts long texts, and omits other data that can't be stored.
func FitStatus(s entity.Status) entity.Status {
	s.Message = StatusMessage.Cut(s.Message)
	if _, err := checkData(s.Data, 0); err == nil {
		return s
	}
	s.Data, _ = fittedData(s.Data, 0).(map[string]any)
	if _, err := checkData(s.Data, 0); err != nil {
		s.Data = nil
	}
	return s
}

// FitFailures returns the failures with their errors cut to the limit of a request.
func FitFailures(all []entity.WorkerFailure) []entity.WorkerFailure {
	fitted := make([]entity.WorkerFailure, len(all))
	for i, f := range all {
		f.Error = Name.Cut(f.Error)
		fitted[i] = f
	}
	return fitted
}

// fittedData returns status data with long texts cut and deeply nested values omitted.
func fittedData(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return Name.Cut(v)
	case []any:
		out := make([]any, len(v))
		for i := 0; i < len(v) && depth <= StatusDepth.Max; i++ {
			out[i] = fittedData(v[i], depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			if depth <= StatusDepth.Max {
				out[Name.Cut(key)] = fittedData(one, depth+1)
			}
		}
		return out
	}
	return v
}

// checkData returns the size of status data, whose values must be representable in JSON.
func checkData(v any, depth int) (size int, err error) {
	if err := StatusDepth.Check(depth); err != nil {
		return 0, err
	}
	text := func(s string) error {
		size += len(s)
		return CheckPlain(StatusData.Of, s)
	}
	inner := func(v any) error {
		n, err := checkData(v, depth+1)
		size += n
		return err
	}
	size = 8
	switch v := v.(type) {
	case nil, bool, int, int32, int64:
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, entity.Errorf(entity.Invalid, "%s: %v is not a number", StatusData.Of, v)
		}
	case string:
		if err := text(v); err != nil {
			return 0, err
		}
	case []any:
		for _, one := range v {
			if err := inner(one); err != nil {
				return 0, err
			}
		}
	case map[string]any:
		for key, one := range v {
			if err := firstOf(text(key), inner(one)); err != nil {
				return 0, err
			}
		}
	case []string:
		for _, one := range v {
			if err := text(one); err != nil {
				return 0, err
			}
		}
	default:
		return 0, entity.Errorf(entity.Invalid, "%s: a value is of type %T", StatusData.Of, v)
	}
	return size, StatusData.Check(size)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// WritableTime reports whether the time can be encoded as JSON: Go rejects years outside 0 to 9999.
func WritableTime(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// StatusDamage returns why a stored status can't be shown unchanged, or "" if it can.
func StatusDamage(s entity.Status) string {
	if s.Since.IsZero() || WritableTime(s.Since) {
		if err := CheckStatus(s); err != nil {
			return err.Error()
		}
		return ""
	}
	return fmt.Sprintf("since: the year %d", s.Since.UTC().Year())
}

// MendStatus removes from a status whatever can't be shown, and notes that in its message, so that
// one damaged status doesn't hide all others.
func MendStatus(s entity.Status) entity.Status {
	damage := StatusDamage(s)
	if damage == "" {
		return s
	}
	if !WritableTime(s.Since) {
		s.Since = time.Time{}
	}
	if s.Status == "" {
		s.Status = entity.StatusUnknown
	}
	s.Status = entity.StatusWord(StatusWord.Cut(string(s.Status)))
	note := "(damaged: " + damage + ")"
	if s.Message != "" {
		note = " " + note
	}
	s = FitStatus(s)
	message := StatusMessage
	message.Max -= len(note)
	s.Message = message.Cut(s.Message) + note
	return s
}
