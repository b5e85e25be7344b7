package core

import "strings"

// The values of Tenant.Approval: the approval that a tenant's campaigns need.
const (
	ApprovalNone         = "none"          // no separate approval is needed: sending approves the campaign
	ApprovalSecondPerson = "second_person" // approval by a person who did not edit the content
)

// Approvals lists the values of Tenant.Approval.
var Approvals = []string{ApprovalNone, ApprovalSecondPerson}

// ErrApprovalRequired is returned if a campaign lacks the approval by a second person that its tenant requires.
var ErrApprovalRequired = &Error{
	Kind: Forbidden, Code: "approval_required",
	Message: "This tenant requires a second person to approve each campaign. Ask someone who didn't edit it.",
}

const (
	actorUser   = "user:"
	actorClient = "client:"
)

// UserActor returns a user's actor name in the audit log.
func UserActor(id string) string { return actorUser + id }

// ActorUser returns the user id in actor, a name from the audit log. If actor is not a user, it returns "".
func ActorUser(actor string) string {
	id, user := strings.CutPrefix(actor, actorUser)
	if !user {
		return ""
	}
	return id
}

// ClientActor returns an OAuth client's actor name in the audit log.
func ClientActor(id string) string { return actorClient + id }

// ActorClient returns the OAuth client id in actor, a name from the audit log. If actor is not a client, it returns "".
func ActorClient(actor string) string {
	id, client := strings.CutPrefix(actor, actorClient)
	if !client {
		return ""
	}
	return id
}

// Approvers describes the people, other than the caller, who may approve a campaign and fix its links after sending.
type Approvers struct {
	People  int     `json:"people" about:"People who are emailed when approval is requested"`
	Waiting []Email `json:"waiting" about:"Addresses of people who must first accept their invitation or verify their address"`
}

// CampaignPermissions holds the actions that a caller may perform on a campaign. They depend on the caller's role and
// on whether the tenant requires a second person, but not on the state of the campaign.
type CampaignPermissions struct {
	Approve bool `json:"approve" about:"Whether you may approve the campaign; independent of its state"`
	Send    bool `json:"send" about:"Whether you may send the campaign; independent of its state"`
	Mend    bool `json:"mend" about:"Whether you may fix links of sent emails and correct web pages"`
}

// Permissions returns the caller's permissions for one of the tenant's campaigns. by lists the actors in the same way
// as for Accepts.
func (t *Tenant) Permissions(c *Campaign, caller Caller, by ...string) CampaignPermissions {
	second, sends := t.Accepts(c, by...) == nil, caller.May(ActionCampaignSend, t.ID)
	approved := c.State == CampaignApproved && t.Accepts(c, c.ApprovedBy) == nil
	return CampaignPermissions{
		Approve: second && caller.May(ActionCampaignApprove, t.ID),
		Send:    sends && (second || approved), Mend: sends && second,
	}
}

// AsksSecondPerson reports whether the tenant's campaigns must be approved by a second person.
func (t *Tenant) AsksSecondPerson() bool { return t.Approval == ApprovalSecondPerson }

// ErrPostsApproval is returned if imported posts can't be published because the tenant requires a second person's
// approval, and the caller either uploaded the export or is not a person.
var ErrPostsApproval = &Error{
	Kind: Forbidden, Code: "approval_required",
	Message: "This tenant requires a second person to publish imported posts. Ask someone who didn't upload the " +
		"export.",
}

// Accepts returns ErrApprovalRequired if the tenant requires a second person and by[0] doesn't count as one. The actors
// in by are named as in the audit log: by[0] approves; the others are the OAuth client that by[0] acts through and the
// people who manage that client. by[0] must be a user, not a client or a command. None of the actors may have saved the
// campaign since its last approval, or changed its layout or theme since another person approved it.
func (t *Tenant) Accepts(c *Campaign, by ...string) error {
	if !t.AsksSecondPerson() || len(by) > 0 && ActorUser(by[0]) != "" && !c.WrittenBy(by...) {
		return nil
	}
	return ErrApprovalRequired
}
