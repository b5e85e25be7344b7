package console

import (
	"iter"
	"regexp"
	"strings"
	"time"

	"newsletterd/core"
)

// consentLine is an entry in the consent record with its description.
type consentLine struct {
	core.Consent
	What, From string
}

// evidenceTime matches a time in the note on an imported consent.
var evidenceTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT[\d:]+Z`)

// consentLine describes an entry in the consent record. It leaves out a note that only repeats the signup time.
func (p *Page) consentLine(c *core.Consent, team map[string]string) consentLine {
	line := consentLine{*c, p.consentWhat(c), p.consentFrom(c, team)}
	if c.What == core.ConsentImported && core.OnlyEvidenceTime(c.Reason) {
		line.Reason = ""
	}
	if c.What == core.ConsentImported || c.What == core.ConsentImportedLeft {
		line.Reason = evidenceTime.ReplaceAllStringFunc(line.Reason, func(text string) string {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				return text
			}
			return p.When(core.At(at))
		})
	}
	return line
}

// consentWhat describes the event in an entry of the consent record.
func (p *Page) consentWhat(c *core.Consent) string {
	switch c.What {
	case core.ConsentRequested:
		return p.T("Signed up")
	case core.ConsentConfirmed:
		if c.Proof == core.ProofMailed {
			return p.T("Confirmed by email")
		}
		return p.T("Added without a confirmation email")
	case core.ConsentImported:
		if c.Proof == core.ProofAdmin {
			return p.T("Added manually")
		}
		return p.T("Imported")
	case core.ConsentImportedLeft:
		return p.T("Imported as unsubscribed")
	case core.ConsentUnsubscribed:
		if c.Proof == core.ProofImport {
			return p.T("Unsubscribed by an import")
		}
		if c.Proof == core.ProofAdmin {
			return p.T("Unsubscribed manually")
		}
		return p.T("Unsubscribed")
	case core.ConsentResumed:
		return p.T("Resubscribed")
	case core.ConsentDisabled:
		return p.T("Address blocked")
	case core.ConsentTracking:
		return p.T("Allowed tracking of opens and clicks")
	case core.ConsentTrackingWithdrawn:
		return p.T("Withdrew consent to tracking")
	}
	return c.What
}

// teamOf returns team members' names by actor. It always includes the visitor. If the visitor may see the team and
// actors contains another user, it includes the whole team.
func (p *Page) teamOf(actors iter.Seq[string]) (names map[string]string, err error) {
	me := core.UserActor(p.Who.User.ID)
	names = map[string]string{me: personName(p.Who.User.ID, p.Who.User.Name, p.Who.User.Email)}
	others := false
	for actor := range actors {
		others = others || core.ActorUser(actor) != "" && actor != me
	}
	if !others || !p.May(core.ActionTeamRead) {
		return names, nil
	}
	team, err := all[core.Teammate](p, "/api/admin/team", p.ofTenant("limit", "100"), maxTeam)
	for _, m := range team {
		names[core.UserActor(m.ID)] = personName(m.ID, m.Name, m.Email)
	}
	return names, err
}

// personName returns the name that a user has chosen or, without one, the address.
func personName(id, name string, email core.Email) string {
	if name == "" || name == core.DefaultName(id) {
		return string(email)
	}
	return name
}

// consentFrom describes the source of an entry in the consent record. team holds the names of people who may appear in
// it.
func (p *Page) consentFrom(c *core.Consent, team map[string]string) string {
	var parts []string
	if by := p.madeBy(madeFrom(c.Source), team); by != "" {
		parts = append(parts, by)
	} else if text := p.consentPlace(c); text != "" {
		parts = append(parts, text)
	} else if c.Source != "" {
		parts = append(parts, p.T("“{{cell}}”", "cell", c.Source))
	}
	if c.Remote != "" {
		parts = append(parts, p.T("from IP address {{address}}", "address", c.Remote))
	}
	if c.SubscribedAt > 0 {
		parts = append(parts, p.T("original signup: {{when}}", "when", p.When(c.SubscribedAt)))
	} else if c.What == core.ConsentImported && c.Reason != "" {
		parts = append(parts, c.Reason)
	}
	return strings.Join(parts, " · ")
}

// consentPlace describes the source of an entry in the consent record if that is the API or one of newsletterd's own
// pages. For other sources, it returns an empty string.
func (p *Page) consentPlace(c *core.Consent) string {
	switch {
	case c.Source == "form" && c.What == core.ConsentRequested:
		return p.T("signup form")
	case c.Source == "api":
		return p.T("through the API")
	case c.Source == "preferences":
		return p.T("preference page")
	case c.Source != "page":
		return ""
	case c.What == core.ConsentConfirmed:
		return p.T("confirmation page")
	case c.What == core.ConsentUnsubscribed, c.What == core.ConsentResumed:
		return p.T("unsubscribe page")
	}
	return ""
}

// madeBy describes the actor who created a record. If the kind of actor is unknown, it returns an empty string. team is
// the result of teamOf.
func (p *Page) madeBy(actor string, team map[string]string) string {
	switch by, _, _ := strings.Cut(actor, ":"); {
	case team[actor] != "":
		return p.T("by {{who}}", "who", team[actor])
	case by == "user":
		return p.T("by a team member")
	case by == "client":
		return p.T("through the API")
	case by == "command":
		return p.T("by the server administrator")
	}
	return ""
}
