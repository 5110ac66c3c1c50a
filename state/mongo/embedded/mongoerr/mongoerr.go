package mongoerr

import (
	"errors"
	"fmt"
	"strconv"
)

// A Code is one of MongoDB's error codes.
type Code int32

// The codes that the store uses.
const (
	InternalError                      Code = 1
	BadValue                           Code = 2
	FailedToParse                      Code = 9
	Unauthorized                       Code = 13
	TypeMismatch                       Code = 14
	Overflow                           Code = 15
	InvalidLength                      Code = 16
	IllegalOperation                   Code = 20
	NamespaceNotFound                  Code = 26
	IndexNotFound                      Code = 27
	PathNotViable                      Code = 28
	ConflictingUpdateOperators         Code = 40
	CursorNotFound                     Code = 43
	NamespaceExists                    Code = 48
	MaxTimeMSExpired                   Code = 50
	DollarPrefixedFieldName            Code = 52
	InvalidIDField                     Code = 53
	EmptyFieldName                     Code = 56
	CommandNotFound                    Code = 59
	ImmutableField                     Code = 66
	CannotCreateIndex                  Code = 67
	InvalidOptions                     Code = 72
	InvalidNamespace                   Code = 73
	IndexOptionsConflict               Code = 85
	IndexKeySpecsConflict              Code = 86
	OperationFailed                    Code = 96
	WriteConflict                      Code = 112
	ShutdownInProgress                 Code = 91
	CappedPositionLost                 Code = 136
	ExceededMemoryLimit                Code = 146
	CannotIndexParallelArrays          Code = 171
	QueryPlanKilled                    Code = 175
	InvalidIndexSpec                   Code = 197
	LockTimeout                        Code = 24
	ConflictingOperationInProgress     Code = 117
	NoSuchTransaction                  Code = 251
	TransactionTooOld                  Code = 225
	TooManyLogicalSessions             Code = 261
	CursorOfTransaction                Code = 50738
	SnapshotUnavailable                Code = 246
	TransactionCommitted               Code = 256
	TransactionTooLarge                Code = 257
	OperationNotSupportedInTransaction Code = 263
	CommandFailed                      Code = 125
	ChangeStreamFatalError             Code = 280
	ChangeStreamHistoryLost            Code = 286
	DataCorruptionDetected             Code = 270
	CursorInUse                        Code = 143
	InvalidPipelineOperator            Code = 168
	ConversionFailure                  Code = 241
	MemoryLimit                        Code = 292
	UnsupportedOpQueryCommand          Code = 352
	CannotGrowCapped                   Code = 10003
	ObjectTooLarge                     Code = 10334
	DuplicateKey                       Code = 11000
	KeyTooLong                         Code = 17280
	ResultTooLarge                     Code = 17419
	UnrecognizedPipelineStage          Code = 40324
	UnknownField                       Code = 40415
	ChangeStreamNotSupported           Code = 40573
)

var names = map[Code]string{
	InternalError:                      "InternalError",
	BadValue:                           "BadValue",
	FailedToParse:                      "FailedToParse",
	Unauthorized:                       "Unauthorized",
	TypeMismatch:                       "TypeMismatch",
	Overflow:                           "Overflow",
	InvalidLength:                      "InvalidLength",
	IllegalOperation:                   "IllegalOperation",
	NamespaceNotFound:                  "NamespaceNotFound",
	IndexNotFound:                      "IndexNotFound",
	PathNotViable:                      "PathNotViable",
	ConflictingUpdateOperators:         "ConflictingUpdateOperators",
	CursorNotFound:                     "CursorNotFound",
	NamespaceExists:                    "NamespaceExists",
	MaxTimeMSExpired:                   "ExceededTimeLimit",
	DollarPrefixedFieldName:            "DollarPrefixedFieldName",
	InvalidIDField:                     "InvalidIdField",
	EmptyFieldName:                     "EmptyFieldName",
	CommandNotFound:                    "CommandNotFound",
	ImmutableField:                     "ImmutableField",
	CannotCreateIndex:                  "CannotCreateIndex",
	InvalidOptions:                     "InvalidOptions",
	InvalidNamespace:                   "InvalidNamespace",
	IndexOptionsConflict:               "IndexOptionsConflict",
	IndexKeySpecsConflict:              "IndexKeySpecsConflict",
	OperationFailed:                    "OperationFailed",
	WriteConflict:                      "WriteConflict",
	ShutdownInProgress:                 "ShutdownInProgress",
	CappedPositionLost:                 "CappedPositionLost",
	ExceededMemoryLimit:                "ExceededMemoryLimit",
	CannotIndexParallelArrays:          "CannotIndexParallelArrays",
	QueryPlanKilled:                    "QueryPlanKilled",
	InvalidIndexSpec:                   "InvalidIndexSpecificationOption",
	LockTimeout:                        "LockTimeout",
	ConflictingOperationInProgress:     "ConflictingOperationInProgress",
	NoSuchTransaction:                  "NoSuchTransaction",
	TransactionTooOld:                  "TransactionTooOld",
	SnapshotUnavailable:                "SnapshotUnavailable",
	TransactionCommitted:               "TransactionCommitted",
	TransactionTooLarge:                "TransactionTooLarge",
	OperationNotSupportedInTransaction: "OperationNotSupportedInTransaction",
	CommandFailed:                      "CommandFailed",
	ChangeStreamFatalError:             "ChangeStreamFatalError",
	ChangeStreamHistoryLost:            "ChangeStreamHistoryLost",
	DataCorruptionDetected:             "DataCorruptionDetected",
	CursorInUse:                        "CursorInUse",
	InvalidPipelineOperator:            "InvalidPipelineOperator",
	ConversionFailure:                  "ConversionFailure",
	MemoryLimit:                        "QueryExceededMemoryLimitNoDiskUseAllowed",
	UnsupportedOpQueryCommand:          "UnsupportedOpQueryCommand",
	ObjectTooLarge:                     "BSONObjectTooLarge",
	DuplicateKey:                       "DuplicateKey",
}

// String returns the name that MongoDB sends as codeName.
func (c Code) String() string {
	if name := names[c]; name != "" {
		return name
	}
	return "Location" + strconv.Itoa(int(c))
}

// An Error is the error of a rejected request, with a code.
type Error struct {
	Code    Code
	Message string
}

// Error returns the message that the client sees.
func (e *Error) Error() string { return e.Message }

// New returns an error with the given code; the rest is as in fmt.Sprintf.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// From returns the Error in err's chain; any other error becomes an InternalError with its text.
func From(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: InternalError, Message: err.Error()}
}

// IsTransient reports whether err says that a transaction had no effect because of what others did, and may run again.
func IsTransient(err error) bool {
	return Is(err, WriteConflict) || Is(err, SnapshotUnavailable) || Is(err, LockTimeout) || Is(err, NoSuchTransaction)
}

// Is reports whether err has the given code.
func Is(err error, code Code) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == code
}
