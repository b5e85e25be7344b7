package core

import (
	"slices"
	"strings"
)

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
	Message: "The tenant asks for the approval of a second person, one who has not written on what is sent.",
}

const actorUser = "user:"

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

// Accepts returns ErrApprovalRequired where the tenant asks for a second person's approval and by, as the audit trail
// names an actor, is none: a program, a command on the machine, or one who has saved the campaign since it was approved
// last.
func (t *Tenant) Accepts(c *Campaign, by string) error {
	if t.Approval != ApprovalSecondPerson || ActorUser(by) != "" && !slices.Contains(c.Writers, by) {
		return nil
	}
	return ErrApprovalRequired
}
