package annotary

import "errors"

// A Code names what went wrong, for machines. Codes are stable.
type Code string

// Every code. The comment is the sentence a person gets when there is no better.
const (
	CodeInternal  Code = "internal"            // something went wrong inside
	CodeUsage     Code = "usage"               // the command was not used as it is meant
	CodeConfig    Code = "invalid_config"      // the configuration contradicts itself
	CodeInvalid   Code = "invalid_input"       // the input cannot be read
	CodeAmbiguous Code = "ambiguous_arguments" // two keys differ only in case
	CodeConnect   Code = "could_not_connect"   // a server could not be reached
	CodeFindings  Code = "findings"            // the check found something

	CodeNoPermit      Code = "no_permit"         // no rule permits it
	CodeClass         Code = "class_rule"        // the rule for tools of its class
	CodeIrreversible  Code = "irreversible"      // it may destroy, and no way back is known
	CodeTrifecta      Code = "trifecta"          // private data and strangers' words were seen, and it may carry them out
	CodeOpenWorld     Code = "open_world"        // it reaches the open world
	CodePolicy        Code = "policy"            // a policy of the operator's
	CodePolicyError   Code = "policy_error"      // a policy could not be evaluated
	CodeUnknownTool   Code = "unknown_tool"      // no such tool, or not for this caller
	CodeScope         Code = "scope_filtered"    // the caller lacks a scope the tool wants
	CodeUnknownMethod Code = "unknown_method"    // the operator did not name it
	CodeDenied        Code = "denied"            // policy does not permit it
	CodeApproval      Code = "approval_required" // a person must say yes first
	CodeConflict      Code = "conflict"          // somebody else wrote first
	CodeStore         Code = "store_unavailable" // the state store did not do it
	CodeForged        Code = "forged"            // a signature is not of a known key
	CodeForked        Code = "log_forked"        // the log has two histories
)

// An Error has a code for machines, a sentence for whoever asked, and a cause
// for the operator. Error prints the sentence only: what a model or a stranger
// reads must not leak what went wrong inside.
type Error struct {
	Code   Code
	Public string
	// Hint says what would help, where we know.
	Hint  string
	cause error
}

// E makes an error. The public sentence is lower case and has no full stop.
func E(code Code, public string, cause error) *Error {
	return &Error{Code: code, Public: public, cause: cause}
}

// WithHint adds what would help.
func (e *Error) WithHint(hint string) *Error {
	e.Hint = hint
	return e
}

func (e *Error) Error() string { return e.Public }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// CodeOf returns the code of err; of a foreign error, CodeInternal; of nil, "".
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}
