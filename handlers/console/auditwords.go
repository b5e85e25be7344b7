package console

import (
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
)

// auditSentences say what an action is. {{who}} is the actor, {{what}} the record, {{word}} what follows a key that
// ends with a dot.
var auditSentences = map[string]string{
	"address.disable":             "{{who}} switched the address {{what}} off.",
	"campaign.approve":            "{{who}} approved the campaign {{what}}.",
	"campaign.archive":            "{{who}} put the campaign {{what}} away.",
	"campaign.correct":            "{{who}} corrected the web version of {{what}}.",
	"campaign.create":             "{{who}} began the campaign {{what}}.",
	"campaign.delete":             "{{who}} deleted the campaign {{what}}.",
	"campaign.drop_target":        "{{who}} let a link of {{what}} be, which was to lead elsewhere.",
	"campaign.mend_link":          "{{who}} mended a link of {{what}}.",
	"campaign.propose_target":     "{{who}} asked for a link of {{what}} to lead elsewhere.",
	"campaign.reject":             "{{who}} sent the campaign {{what}} back.",
	"campaign.restore":            "{{who}} brought back a version of the campaign {{what}}.",
	"campaign.review":             "{{who}} asked for approval of the campaign {{what}}.",
	"campaign.send":               "{{who}} sent the campaign {{what}}.",
	"campaign.undo":               "{{who}} took back that the campaign {{what}} is sent.",
	"campaign.update":             "{{who}} changed the campaign {{what}}.",
	"client.create":               "{{who}} made the program {{what}}.",
	"client.delete":               "{{who}} deleted the program {{what}}.",
	"client.update":               "{{who}} changed the program {{what}}.",
	"dkim.create":                 "{{who}} made the DKIM key {{what}}.",
	"dkim.delete":                 "{{who}} deleted the DKIM key {{what}}.",
	"dkim.update":                 "{{who}} changed the DKIM key {{what}}.",
	"domain.delete":               "{{who}} deleted the sender's domain {{what}}.",
	"domain.propose":              "{{who}} entered the sender's domain {{what}}.",
	"domain.verify":               "{{who}} proved the sender's domain {{what}}.",
	"import.":                     "The import {{what}}, begun by {{who}}, ended.",
	"import.cancel":               "{{who}} cancelled the import {{what}}.",
	"import.create":               "{{who}} uploaded the file {{what}}.",
	"import.delete":               "{{who}} deleted the import {{what}}.",
	"import.run":                  "{{who}} began the import {{what}}.",
	"import.undo":                 "{{who}} began to take the import {{what}} back.",
	"import.undone":               "The import {{what}} was taken back, as {{who}} had asked.",
	"invitation.accept.":          "{{who}} accepted an invitation.",
	"invitation.create.":          "{{who}} invited {{what}}.",
	"invitation.delete":           "{{who}} took the invitation of {{what}} back.",
	"job.cancel":                  "{{who}} stopped the mailing {{what}}.",
	"job.create":                  "{{who}} made the mailing {{what}}.",
	"job.pause":                   "{{who}} paused the mailing {{what}}.",
	"job.resume":                  "{{who}} let the mailing {{what}} go on.",
	"job.retry":                   "{{who}} sent {{what}} once more to those who had not got it.",
	"key.rotate":                  "{{who}} made the next signing key {{what}}.",
	"list.ask_again":              "{{who}} asked readers of {{what}} once more.",
	"list.create":                 "{{who}} made the list {{what}}.",
	"list.delete":                 "{{who}} deleted the list {{what}}.",
	"list.sync":                   "{{who}} had the list {{what}} copied to the sending side.",
	"list.take-over":              "{{who}} had the list {{what}} taken over.",
	"list.remove_unconfirmed":     "{{who}} removed from {{what}} who had never confirmed.",
	"list.unsubscribe_silent":     "{{who}} took readers off {{what}} who had not answered.",
	"list.update":                 "{{who}} changed the list {{what}}.",
	"mail.retry":                  "{{who}} had mails sent again: {{what}}.",
	"media.create":                "{{who}} uploaded the picture {{what}}.",
	"media.delete":                "{{who}} deleted the picture {{what}}.",
	"media.update":                "{{who}} changed the picture {{what}}.",
	"model.create":                "{{who}} made the model {{what}}.",
	"model.delete":                "{{who}} deleted the model {{what}}.",
	"model.update":                "{{who}} changed the model {{what}}.",
	"model.visibility.":           "{{who}} changed who sees the model {{what}}.",
	"outbox.retry":                "{{who}} had events delivered again: {{what}}.",
	"person.erase":                "{{who}} erased the person {{what}}.",
	"person.export":               "{{who}} downloaded what is known of {{what}}.",
	"provider.create":             "{{who}} set up the mail provider {{what}}.",
	"provider.delete":             "{{who}} deleted the mail provider {{what}}.",
	"provider.update":             "{{who}} changed the mail provider {{what}}.",
	"recipient.export":            "{{who}} downloaded who got the mailing {{what}}.",
	"relay.test":                  "{{who}} sent a test mail to {{what}}.",
	"role.change.":                "{{who}} changed the role of {{what}}.",
	"role.grant.":                 "{{who}} gave {{what}} a role.",
	"role.revoke":                 "{{who}} took the roles from {{what}}.",
	"role.revoke.":                "{{who}} took a role from {{what}}.",
	"share.create":                "{{who}} shared {{what}}.",
	"share.delete":                "{{who}} ended the sharing of {{what}}.",
	"subscription.create":         "{{who}} added {{what}} to a list.",
	"subscription.delete":         "{{who}} took {{what}} off a list.",
	"subscription.export":         "{{who}} downloaded the people of a list.",
	"subscription.update":         "{{who}} changed what is known of {{what}}.",
	"suppression.import":          "{{who}} added addresses to the suppression list.",
	"suppression.create":          "{{who}} switched the address {{what}} off.",
	"suppression.delete":          "{{who}} let the address {{what}} be mailed again.",
	"suppression.update":          "{{who}} changed why the address {{what}} is switched off.",
	"template.create":             "{{who}} made the template {{what}}.",
	"template.delete":             "{{who}} deleted the template {{what}}.",
	"template.update":             "{{who}} changed the template {{what}}.",
	"tenant.create":               "{{who}} set up {{what}}.",
	"tenant.delete":               "{{who}} deleted {{what}}.",
	"tenant.update":               "{{who}} changed the settings of {{what}}.",
	"theme.create":                "{{who}} made the look {{what}}.",
	"theme.delete":                "{{who}} deleted the look {{what}}.",
	"theme.update":                "{{who}} changed the look {{what}}.",
	"token.revoke":                "{{who}} ended an access token.",
	"user.create":                 "{{who}} made the account of {{what}}.",
	"user.delete":                 "{{who}} deleted the account of {{what}}.",
	"user.email":                  "{{who}} changed the address of {{what}}.",
	"user.email.ask":              "{{who}} asked for another address of {{what}}.",
	"user.factor":                 "{{who}} set up the second step of the sign-in of {{what}}.",
	"user.factor_removed":         "{{who}} removed the second step of the sign-in of {{what}}.",
	"user.logout":                 "{{who}} signed {{what}} out everywhere.",
	"user.passkey.add":            "{{who}} added a passkey of {{what}}.",
	"user.passkey.copied":         "A passkey of {{what}} was copied; the sign-in was refused.",
	"user.passkey.remove":         "{{who}} removed a passkey of {{what}}.",
	"user.passkey.rename":         "{{who}} renamed a passkey of {{what}}.",
	"user.password":               "{{who}} changed the password of {{what}}.",
	"user.recovery_codes":         "{{who}} made new recovery codes for {{what}}.",
	"user.update":                 "{{who}} changed the account of {{what}}.",
	"webhook-client.create":       "{{who}} set up the sender of events {{what}}.",
	"webhook-client.delete":       "{{who}} deleted the sender of events {{what}}.",
	"webhook-client.end-rotation": "{{who}} ended the older secret of the sender of events {{what}}.",
	"webhook-client.rotate":       "{{who}} gave the sender of events {{what}} another secret.",
	"webhook-client.update":       "{{who}} changed the sender of events {{what}}.",
	"webhook-endpoint.create":     "{{who}} set up the receiver {{what}}.",
	"webhook-endpoint.delete":     "{{who}} deleted the receiver {{what}}.",
	"webhook-endpoint.disable":    "{{who}} switched the receiver {{what}} off.",
	"webhook-endpoint.drop":       "Too many events wait for the webhook {{what}}. New ones are dropped.",
	"webhook-endpoint.update":     "{{who}} changed the receiver {{what}}.",
}

// auditAreas are the nouns of actions that a tenant's trail has, in the order of the navigation.
var auditAreas = []option{
	{"campaign", "Campaigns"},
	{"job", "Mailings"},
	{"subscription", "People"},
	{"person", "What is known of people"},
	{"import", "Imports"},
	{"suppression", "Switched off"},
	{"list", "Lists"},
	{"template", "Templates"},
	{"theme", "Looks"},
	{"media", "Pictures"},
	{"tenant", "Settings"},
	{"domain", "Sender's domain"},
	{"dkim", "DKIM keys"},
	{"role", "Roles"},
	{"invitation", "Invitations"},
	{"client", "Programs"},
	{"webhook-endpoint", "Receivers of events"},
	{"webhook-client", "Senders of events"},
	{"provider", "Mail providers"},
	{"relay", "Test mails"},
}

// auditPart is a piece of a sentence: plain where it leads nowhere.
type auditPart struct{ Text, To string }

// auditSentence says in words what an entry tells.
func (p *Page) auditSentence(e *core.AuditEntry) (parts []auditPart) {
	text, known := auditSentences[e.Action]
	for key := e.Action; !known && strings.Contains(key, "."); {
		key = key[:strings.LastIndexByte(key, '.')]
		text, known = auditSentences[key+"."]
	}
	if !known {
		text = "{{who}}: " + e.Action + " {{what}}."
	}
	rest := p.T(text)
	for rest != "" {
		plain, after, found := strings.Cut(rest, "{{")
		parts = append(parts, auditPart{Text: plain})
		if !found {
			break
		}
		name, after, _ := strings.Cut(after, "}}")
		switch name {
		case "who":
			parts = append(parts, p.auditActor(e))
		case "what":
			parts = append(parts, p.auditObject(e))
		}
		rest = after
	}
	return slices.DeleteFunc(parts, func(a auditPart) bool { return a.Text == "" })
}

// auditActor is who has done it.
func (p *Page) auditActor(e *core.AuditEntry) auditPart {
	kind, account, _ := strings.Cut(e.Actor, ":")
	to := p.Path("settings", "audit") + "?" + url.Values{"actor": {e.Actor}}.Encode()
	switch {
	case kind == "client" && e.ActorName != "":
		return auditPart{p.T("The program {{name}}", "name", e.ActorName), to}
	case kind == "client":
		return auditPart{p.T("A program that is gone"), to}
	case e.ActorName != "":
		return auditPart{e.ActorName, to}
	case kind == "user":
		return auditPart{p.T("Someone who has no role here"), to}
	case kind == "command" && account != "":
		return auditPart{p.T("{{name}} on the server", "name", account), to}
	case kind == "command":
		return auditPart{p.T("Someone on the server"), to}
	case kind == "daemon":
		return auditPart{"newsletterd", to}
	case e.Actor == core.AnotherTenant:
		return auditPart{p.T("Someone elsewhere"), ""}
	}
	return auditPart{e.Actor, to}
}

// auditObject is the record that it was done to, with its page where there is one.
func (p *Page) auditObject(e *core.AuditEntry) auditPart {
	noun, _, _ := strings.Cut(e.Action, ".")
	page := p.Path("settings", "audit") + "?" + url.Values{"object": {e.Object}}.Encode()
	if e.ObjectName == "" {
		if _, isID := core.ParseID(e.Object); isID {
			return auditPart{p.T("(gone)"), page}
		}
		return auditPart{e.Object, ""}
	}
	to := page
	if e.ObjectDeleted {
		return auditPart{e.ObjectName, page}
	}
	switch noun {
	case "campaign", "job":
		to = p.Path("campaigns", e.CampaignID)
	case "list":
		to = p.Path("lists", e.Object)
	case "import":
		to = p.Path("imports", e.Object)
	case "domain":
		to = p.Path("settings", "domains", e.Object)
	case "tenant":
		to = p.Path("settings")
	}
	return auditPart{e.ObjectName, to}
}
