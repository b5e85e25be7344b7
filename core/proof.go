package core

import (
	"slices"
	"time"
)

// ProofAge is how long a sign-in, or other proof of the user's identity, counts as fresh.
const ProofAge = 15 * time.Minute

// FreshProof reports whether a proof given at the instant at is still fresh.
func FreshProof(at, now Instant) bool { return now.Sub(at) <= ProofAge }

// ProofActions lists the actions that require a fresh proof of the user's identity. They reach many people, grant
// rights, or have effects that outlast the session. A route for such an action that needs no proof is marked
// explicitly.
var ProofActions = []Action{
	ActionCampaignApprove, ActionCampaignSend, ActionPeopleImport, ActionPeopleExport, ActionPeopleErase, ActionTeamManage,
	ActionRelayManage, ActionDKIMManage,
	ActionKeyManage, ActionUserManage, ActionWebhookManage, ActionClientManage, ActionClientSecret, ActionEndpointManage,
	ActionDomainVerify, ActionProviderManage,
}

// AsksProof reports whether the action requires a fresh proof. reads is true for a request that only reads data; among
// those, only exports require a proof.
func (a Action) AsksProof(reads bool) bool {
	return slices.Contains(ProofActions, a) && (!reads || a == ActionPeopleExport)
}

// AsksProof reports whether changing a tenant from was to t requires a fresh proof. That is the case if the change
// drops the approval by a second person, or affects a mail server or the sender domains.
func (t *Tenant) AsksProof(was *Tenant) bool {
	return was.Approval == ApprovalSecondPerson && t.Approval != was.Approval || t.Relays.bringsPassword() ||
		t.Relays.Column() != was.Relays.Column() || !slices.Equal(t.Domains, was.Domains)
}

// ErrProofOld is returned if an operation requires a fresh proof and the token's sign-in is older than ProofAge (RFC
// 9470).
var ErrProofOld = &Error{
	Kind: Unauthenticated, Code: "insufficient_user_authentication",
	Message: "Sign in again to do this. The last sign-in must be at most 15 minutes old.",
}
