package entity

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// The words that each agent may set. A cloud has words of its own.
var (
	UnitWords  = append(slices.Clone(WorkloadWords), StatusError, StatusUnknown, StatusTerminated)
	AgentWords = []StatusWord{StatusAllocating, StatusExecuting, StatusIdle, StatusError, StatusFailed, StatusLost,
		StatusRebooting}
	StorageWords = []StatusWord{StatusError} // the others follow from the records
	MachineWords = []StatusWord{StatusPending, StatusStarted, StatusStopped, StatusError, StatusDown}
)

// CheckWord returns an Invalid error unless the status is one of words.
func (s Status) CheckWord(words []StatusWord) error {
	if slices.Contains(words, s.Status) {
		return nil
	}
	return Errorf(Invalid, "cannot set invalid status %q, expected one of %v", LimitStatusWord.Cut(string(s.Status)), words)
}

// Check returns an Invalid error for a status that can't be stored. It ignores Since, which the
// controller sets.
func (s Status) Check() error {
	if s.Status == "" {
		return Errorf(Invalid, "status: it is empty")
	}
	if err := LimitStatusWord.CheckText(string(s.Status)); err != nil {
		return err
	}
	if err := LimitStatusMessage.CheckText(s.Message); err != nil {
		return err
	}
	_, err := checkData(s.Data, 0)
	return err
}

// Fitted returns the status in a form that Check accepts. A hook's last line and a cloud's error
// can be anything: long texts are cut, and other data that can't be stored is left out.
func (s Status) Fitted() Status {
	s.Message = LimitStatusMessage.Cut(s.Message)
	if _, err := checkData(s.Data, 0); err == nil {
		return s
	}
	s.Data, _ = fittedData(s.Data, 0).(map[string]any)
	if _, err := checkData(s.Data, 0); err != nil {
		s.Data = nil
	}
	return s
}

// fittedData returns status data with its texts cut.
func fittedData(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return LimitName.Cut(v)
	case []any:
		out := make([]any, len(v))
		for i := 0; i < len(v) && depth <= LimitStatusDepth.Max; i++ {
			out[i] = fittedData(v[i], depth+1)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			if depth <= LimitStatusDepth.Max {
				out[LimitName.Cut(key)] = fittedData(one, depth+1)
			}
		}
		return out
	}
	return v
}

// checkData returns the size of status data, whose values must be representable in JSON.
func checkData(v any, depth int) (size int, err error) {
	if err := LimitStatusDepth.Check(depth); err != nil {
		return 0, err
	}
	text := func(s string) error {
		size += len(s)
		return CheckPlain(LimitStatusData.Of, s)
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
			return 0, Errorf(Invalid, "%s: %v is not a number", LimitStatusData.Of, v)
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
		return 0, Errorf(Invalid, "%s: a value is of type %T", LimitStatusData.Of, v)
	}
	return size, LimitStatusData.Check(size)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// WritableTime reports whether JSON can represent the time: Go refuses years of more than four
// digits.
func WritableTime(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// Damage returns why a stored status can't be shown as it is, or "".
func (s Status) Damage() string {
	if s.Since.IsZero() || WritableTime(s.Since) {
		if err := s.Check(); err != nil {
			return err.Error()
		}
		return ""
	}
	return fmt.Sprintf("since: the year %d", s.Since.UTC().Year())
}

// Mended returns the status without what can't be shown, and says so in its message: one damaged
// status must not hide all others.
func (s Status) Mended() Status {
	damage := s.Damage()
	if damage == "" {
		return s
	}
	if !WritableTime(s.Since) {
		s.Since = time.Time{}
	}
	if s.Status == "" {
		s.Status = StatusUnknown
	}
	s.Status = StatusWord(LimitStatusWord.Cut(string(s.Status)))
	note := "(damaged: " + damage + ")"
	if s.Message != "" {
		note = " " + note
	}
	s = s.Fitted()
	message := LimitStatusMessage
	message.Max -= len(note)
	s.Message = message.Cut(s.Message) + note
	return s
}
