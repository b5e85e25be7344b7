package core

import (
	"slices"
	"time"
)

// ProofAge is how long a sign-in, or another proof of who a user is, counts as fresh.
const ProofAge = 15 * time.Minute

// FreshProof reports whether a proof is young enough for what asks for a fresh one.
func FreshProof(at, now Instant) bool { return now.Sub(at) <= ProofAge }

// ProofActions ask for a fresh proof of who the user is: what reaches many people at once, and what gives rights away or
// outlasts the session. A route that does without says so.
var ProofActions = []Action{
	ActionCampaignApprove, ActionCampaignSend, ActionPeopleImport, ActionPeopleExport, ActionPeopleErase, ActionTeamManage,
	ActionRelayManage, ActionDKIMManage,
	ActionKeyManage, ActionUserManage, ActionWebhookManage, ActionClientManage, ActionClientSecret, ActionEndpointManage,
	ActionDomainVerify, ActionProviderManage,
}

// AsksProof reports whether an action asks for a fresh proof. Of what only reads, it is the export alone.
func (a Action) AsksProof(reads bool) bool {
	return slices.Contains(ProofActions, a) && (!reads || a == ActionPeopleExport)
}

// AsksProof reports whether what a tenant was before has changed in a way that asks for a fresh proof: the second person
// given up, a mail server, or a sender domain.
func (t *Tenant) AsksProof(was *Tenant) bool {
	return was.Approval == ApprovalSecondPerson && t.Approval != was.Approval || t.Relays.bringsPassword() ||
		t.Relays.Column() != was.Relays.Column() || !slices.Equal(t.Domains, was.Domains)
}

// ErrProofOld is returned when a token's sign-in is older than ProofAge, and the operation asks for a fresh one
// (RFC 9470).
var ErrProofOld = &Error{
	Kind: Unauthenticated, Code: "insufficient_user_authentication",
	Message: "Sign in again to do this. The last sign-in must be at most 15 minutes old.",
}
