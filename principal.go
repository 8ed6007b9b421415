package annotary

// A Principal is who a call is made for. Two calls of equal principals may
// share what belongs to a person: a running server, a grant, a conversation.
type Principal struct {
	// Tenant is the isolation unit; empty means the only one there is.
	Tenant string
	// Issuer says who vouches for Subject; empty is this machine.
	Issuer string
	// Subject is the person or service.
	Subject string
	// Client is the program that speaks, where it has proved who it is.
	Client string
}

// Local is the principal of a gateway that serves one user only.
var Local = Principal{Subject: "local"}
