package core

import "strings"

// Whose approval the mailings of a tenant need.
const (
	ApprovalNone         = "none"          // the sender approves along the way
	ApprovalSecondPerson = "second_person" // that of a person who has not written on what is sent
)

// Approvals are the words of Tenant.Approval.
var Approvals = []string{ApprovalNone, ApprovalSecondPerson}

// ErrApprovalRequired is returned for a mailing that a second person has not approved, where the tenant asks for it.
var ErrApprovalRequired = &Error{
	Kind: Forbidden, Code: "approval_required",
	Message: "This tenant requires approval by a second person who did not edit the content.",
}

const (
	actorUser   = "user:"
	actorClient = "client:"
)

// UserActor returns how the audit trail names a user as an actor.
func UserActor(id string) string { return actorUser + id }

// ActorUser returns the id of the user whom the audit trail names as an actor; empty where it names none.
func ActorUser(actor string) string {
	id, user := strings.CutPrefix(actor, actorUser)
	if !user {
		return ""
	}
	return id
}

// ClientActor returns how the audit trail names an OAuth client as an actor.
func ClientActor(id string) string { return actorClient + id }

// ActorClient returns the id of the OAuth client that the audit trail names as an actor; empty where it names none.
func ActorClient(actor string) string {
	id, client := strings.CutPrefix(actor, actorClient)
	if !client {
		return ""
	}
	return id
}

// Approvers are those who may approve a campaign, and mend it once it is sent, but for the one who asks.
type Approvers struct {
	People int `json:"people"` // who can, and get a mail where it is asked for
	// who could, had they accepted their invitation or proved their address
	Waiting []Email `json:"waiting"`
}

// CampaignPermissions is what a caller may do with a campaign, by its role and as a second person or none. What the
// state of the campaign allows is another matter.
type CampaignPermissions struct {
	Approve bool `json:"approve"`
	Send    bool `json:"send"`
	Mend    bool `json:"mend"` // links of what was sent, and what pages show of it
}

// Permissions returns what a caller may do with a campaign of the tenant. by are those whose act it would be.
func (t *Tenant) Permissions(c *Campaign, caller Caller, by ...string) CampaignPermissions {
	second, sends := t.Accepts(c, by...) == nil, caller.May(ActionCampaignSend, t.ID)
	approved := c.State == CampaignApproved && t.Accepts(c, c.ApprovedBy) == nil
	return CampaignPermissions{
		Approve: second && caller.May(ActionCampaignApprove, t.ID),
		Send:    sends && (second || approved), Mend: sends && second,
	}
}

// AsksSecondPerson reports whether the tenant asks for the approval of a second person.
func (t *Tenant) AsksSecondPerson() bool { return t.Approval == ApprovalSecondPerson }

// Accepts returns ErrApprovalRequired if the tenant requires a second person and this is not one. by are actors as the
// audit log names them: by[0] approves, the others are the OAuth client that by[0] acts through and the people who keep
// it. by[0] must be a user, not a program or a command. None of by may have saved the campaign since its last approval,
// or changed its layout or theme since someone else approved that.
func (t *Tenant) Accepts(c *Campaign, by ...string) error {
	if !t.AsksSecondPerson() || len(by) > 0 && ActorUser(by[0]) != "" && !c.WrittenBy(by...) {
		return nil
	}
	return ErrApprovalRequired
}
