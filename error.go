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

	CodeNoPermit      Code = "no_permit"          // no rule permits it
	CodeClass         Code = "class_rule"         // the rule for tools of its class
	CodeIrreversible  Code = "irreversible"       // it may destroy, and no way back is known
	CodeTrifecta      Code = "trifecta"           // private data and strangers' words were seen, and it may carry them out
	CodeOpenWorld     Code = "open_world"         // it reaches the open world
	CodePolicy        Code = "policy"             // a policy of the operator's
	CodePolicyError   Code = "policy_error"       // a policy could not be evaluated
	CodeUnknownTool   Code = "unknown_tool"       // no such tool, or not for this caller
	CodeScope         Code = "scope_filtered"     // the caller lacks a scope the tool wants
	CodeStepUp        Code = "insufficient_scope" // the caller is to ask for a scope first
	CodeAppOnly       Code = "app_only"           // only an app may use it, and the host renders none
	CodeDoor          Code = "worse_than_door"    // it does more than the tool it was called by may do
	CodeUnknownMethod Code = "unknown_method"     // the operator did not name it
	CodeDenied        Code = "denied"             // policy does not permit it
	CodeApproval      Code = "approval_required"  // a person must say yes first
	CodeApprovalNo    Code = "approval_denied"    // a person said no, and the no holds
	CodeQuestions     Code = "too_many_questions" // as many calls of the caller wait for a person as may
	CodeConflict      Code = "conflict"           // somebody else wrote first
	CodeStore         Code = "store_unavailable"  // the state store did not do it
	CodeKilled        Code = "killed"             // the operator stopped it
	CodeProfile       Code = "profile"            // the server is for profiles the caller is not in
	CodeReadOnly      Code = "read_only_mode"     // only reads are served here

	CodeStateForged   Code = "state_forged"    // the state of a call was not made here, or was changed
	CodeStateExpired  Code = "state_expired"   // the state of a call is too old
	CodeStateReplayed Code = "state_replayed"  // the state of a call was used before
	CodeStateMismatch Code = "state_mismatch"  // the state belongs to another call or caller
	CodeRounds        Code = "too_many_rounds" // a call went back and forth too often

	CodeGrantSpent        Code = "grant_spent"        // the yes was for once
	CodeGrantExpired      Code = "grant_expired"      // its time is over
	CodeGrantRevoked      Code = "grant_revoked"      // somebody took it back
	CodeGrantArguments    Code = "grant_arguments"    // it was for other arguments
	CodeGrantDefinition   Code = "grant_definition"   // the tool is no longer what it was
	CodeGrantConversation Code = "grant_conversation" // it was for another conversation
	CodeGrantReasons      Code = "grant_reasons"      // it does not answer every reason there is now
	CodeGrantApprover     Code = "grant_approver"     // who gave it may not, as policy stands

	CodeUnknownApproval Code = "unknown_approval" // no such question or grant
	CodeAnswered        Code = "already_answered" // somebody answered, or it expired
	CodeNotApprover     Code = "not_approver"     // policy does not let this person answer here
	CodeScopeTooWide    Code = "scope_too_wide"   // the yes cannot be given this widely

	CodeForged Code = "forged"     // a signature is not of a known key
	CodeForked Code = "log_forked" // the log has two histories

	CodeArguments Code = "invalid_arguments"   // they do not keep to the tool's input schema
	CodeUnchecked Code = "unchecked_arguments" // the tool's input schema cannot be understood
	CodeUnknown   Code = "outcome_unknown"     // it may have been sent, and no answer came back
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

// Error returns the public sentence.
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
