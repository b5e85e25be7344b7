package console

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
)

// auditSentences maps actions to sentences. {{who}} is the actor and {{what}} the record. If a key ends with a dot,
// {{word}} is the rest of the action.
var auditSentences = map[string]string{
	"address.disable":             "{{who}} blocked {{what}}.",
	"bulk_action.cancel":          "{{who}} stopped a {{what}}.",
	"bulk_action.start":           "{{who}} started a {{what}}.",
	"bulk_action.undo":            "{{who}} started undoing a {{what}}.",
	"campaign.approve":            "{{who}} approved {{what}}.",
	"campaign.archive":            "{{who}} archived {{what}}.",
	"campaign.correct":            "{{who}} edited the web version of {{what}}.",
	"campaign.create":             "{{who}} created the campaign {{what}}.",
	"campaign.delete":             "{{who}} deleted the campaign {{what}}.",
	"campaign.drop_target":        "{{who}} kept a link in {{what}} unchanged.",
	"campaign.mend_link":          "{{who}} fixed a link in {{what}}.",
	"campaign.propose_target":     "{{who}} suggested a link fix for {{what}}.",
	"campaign.reject":             "{{who}} requested changes to {{what}}.",
	"campaign.restore":            "{{who}} restored a version of {{what}}.",
	"campaign.review":             "{{who}} requested approval for {{what}}.",
	"campaign.poll.close":         "{{who}} closed a poll in {{what}}.",
	"campaign.schedule":           "{{who}} scheduled {{what}}.",
	"campaign.send":               "{{who}} sent {{what}}.",
	"campaign.undo":               "{{who}} undid the send of {{what}}.",
	"campaign.update":             "{{who}} edited the campaign {{what}}.",
	"client.create":               "{{who}} added the API client {{what}}.",
	"client.delete":               "{{who}} deleted the API client {{what}}.",
	"client.update":               "{{who}} edited the API client {{what}}.",
	"dkim.create":                 "{{who}} created the DKIM key {{what}}.",
	"dkim.delete":                 "{{who}} deleted the DKIM key {{what}}.",
	"dkim.update":                 "{{who}} changed the DKIM key {{what}}.",
	"domain.delete":               "{{who}} deleted the sender domain {{what}}.",
	"domain.propose":              "{{who}} added the sender domain {{what}}.",
	"domain.verify":               "{{who}} verified the sender domain {{what}}.",
	"import.":                     "Import {{what}} finished (started by {{who}}).",
	"import.checked":              "Dry run of the import {{what}} finished (started by {{who}}).",
	"import.cancel":               "{{who}} canceled the import {{what}}.",
	"import.create":               "{{who}} uploaded the file {{what}}.",
	"import.delete":               "{{who}} deleted the import {{what}}.",
	"import.pictures":             "{{who}} retried copying the images of {{what}}.",
	"import.posts":                "{{who}} added the posts of {{what}} to the archive.",
	"import.posts_undo":           "{{who}} removed the posts of {{what}} from the archive.",
	"import.run":                  "{{who}} started the import {{what}}.",
	"import.try":                  "{{who}} started a dry run of the import {{what}}.",
	"import.undo":                 "{{who}} started undoing the import {{what}}.",
	"import.undone":               "Import {{what}} undone (requested by {{who}}).",
	"invitation.accept.":          "{{who}} accepted an invitation.",
	"invitation.create.":          "{{who}} invited {{what}}.",
	"invitation.delete":           "{{who}} withdrew the invitation for {{what}}.",
	"job.cancel":                  "{{who}} canceled sending {{what}}.",
	"job.create":                  "{{who}} created a send for {{what}}.",
	"job.move":                    "{{who}} changed the start time of the campaign {{what}}.",
	"job.pause":                   "{{who}} paused sending {{what}}.",
	"job.resume":                  "{{who}} resumed sending {{what}}.",
	"job.retry":                   "{{who}} resent {{what}} to addresses that failed.",
	"key.rotate":                  "{{who}} created the next signing key {{what}}.",
	"list.ask_again":              "{{who}} sent reminders to people on {{what}}.",
	"list.create":                 "{{who}} created the list {{what}}.",
	"list.delete":                 "{{who}} deleted the list {{what}}.",
	"list.issue_remove":           "{{who}} removed an imported issue from the archive of {{what}}.",
	"list.restore":                "{{who}} restored the list {{what}}.",
	"list.sync":                   "{{who}} started a full sync of {{what}}.",
	"list.take-over":              "{{who}} took {{what}} over from another webhook source.",
	"list.remove_unconfirmed":     "{{who}} removed unconfirmed people from {{what}}.",
	"list.unsubscribe_silent":     "{{who}} unsubscribed people from {{what}} who didn't answer.",
	"list.update":                 "{{who}} edited the list {{what}}.",
	"mail.retry":                  "{{who}} retried emails: {{what}}.",
	"media.create":                "{{who}} uploaded the image {{what}}.",
	"media.delete":                "{{who}} deleted the image {{what}}.",
	"media.update":                "{{who}} edited the image {{what}}.",
	"model.create":                "{{who}} created the model {{what}}.",
	"model.delete":                "{{who}} deleted the model {{what}}.",
	"model.update":                "{{who}} edited the model {{what}}.",
	"model.visibility.":           "{{who}} changed the visibility of {{what}}.",
	"outbox.retry":                "{{who}} retried events: {{what}}.",
	"person.erase":                "{{who}} erased the data of {{what}}.",
	"person.export":               "{{who}} exported the data of {{what}}.",
	"provider.create":             "{{who}} added the mail provider {{what}}.",
	"provider.delete":             "{{who}} deleted the mail provider {{what}}.",
	"provider.update":             "{{who}} edited the mail provider {{what}}.",
	"recipient.export":            "{{who}} exported the recipients of {{what}}.",
	"relay.test":                  "{{who}} sent a test email to {{what}}.",
	"role.change.":                "{{who}} changed the role of {{what}}.",
	"role.grant.":                 "{{who}} gave {{what}} a role.",
	"role.revoke":                 "{{who}} removed {{what}} from the team.",
	"role.revoke.":                "{{who}} removed a role from {{what}}.",
	"share.create":                "{{who}} shared {{what}}.",
	"share.delete":                "{{who}} stopped sharing {{what}}.",
	"subscription.create":         "{{who}} added {{what}} to a list.",
	"subscription.delete":         "{{who}} unsubscribed {{what}} from a list.",
	"subscription.export":         "{{who}} exported the subscribers of a list.",
	"subscription.update":         "{{who}} edited the fields of {{what}}.",
	"subscription.tag":            "{{who}} changed the tags of {{what}}.",
	"tag.create":                  "{{who}} created the tag {{what}}.",
	"tag.delete":                  "{{who}} deleted the tag {{what}}.",
	"tag.update":                  "{{who}} renamed the tag {{what}}.",
	"segment.create":              "{{who}} created the segment {{what}}.",
	"segment.delete":              "{{who}} deleted the segment {{what}}.",
	"segment.update":              "{{who}} edited the segment {{what}}.",
	"suppression.import":          "{{who}} added addresses to the suppression list.",
	"suppression.export":          "{{who}} exported the suppression list.",
	"suppression.create":          "{{who}} blocked {{what}}.",
	"suppression.delete":          "{{who}} unblocked {{what}}.",
	"suppression.update":          "{{who}} changed the reason for blocking {{what}}.",
	"template.create":             "{{who}} created the template {{what}}.",
	"template.delete":             "{{who}} deleted the template {{what}}.",
	"template.update":             "{{who}} edited the template {{what}}.",
	"tenant.create":               "{{who}} created {{what}}.",
	"tenant.delete":               "{{who}} deleted {{what}}.",
	"tenant.restore":              "{{who}} restored {{what}}.",
	"mail-server.remove":          "{{who}} removed the mail server {{what}}.",
	"mail-server.set":             "{{who}} set up the mail server {{what}}.",
	"tenant.update":               "{{who}} changed the settings of {{what}}.",
	"theme.create":                "{{who}} created the theme {{what}}.",
	"theme.delete":                "{{who}} deleted the theme {{what}}.",
	"theme.update":                "{{who}} edited the theme {{what}}.",
	"token.revoke":                "{{who}} revoked an access token.",
	"user.create":                 "{{who}} created the account of {{what}}.",
	"user.delete":                 "{{who}} deleted the account of {{what}}.",
	"user.email":                  "{{who}} changed the email address of {{what}}.",
	"user.email.ask":              "{{who}} requested a new email address for {{what}}.",
	"user.factor":                 "{{who}} set up two-factor authentication for {{what}}.",
	"user.factor_removed":         "{{who}} removed two-factor authentication from the account of {{what}}.",
	"user.logout":                 "{{who}} signed {{what}} out everywhere.",
	"user.passkey.add":            "{{who}} added a passkey for {{what}}.",
	"user.passkey.copied":         "Sign-in by {{what}} rejected: the passkey may have been copied.",
	"user.passkey.remove":         "{{who}} removed a passkey of {{what}}.",
	"user.passkey.rename":         "{{who}} renamed a passkey of {{what}}.",
	"user.password":               "{{who}} changed the password of {{what}}.",
	"user.recovery_codes":         "{{who}} created new recovery codes for {{what}}.",
	"user.update":                 "{{who}} changed the account of {{what}}.",
	"webhook-client.create":       "{{who}} added the webhook source {{what}}.",
	"webhook-client.delete":       "{{who}} deleted the webhook source {{what}}.",
	"webhook-client.end-rotation": "{{who}} revoked the old secret of the webhook source {{what}}.",
	"webhook-client.rotate":       "{{who}} created a new secret for the webhook source {{what}}.",
	"webhook-client.update":       "{{who}} edited the webhook source {{what}}.",
	"webhook-endpoint.create":     "{{who}} added the webhook {{what}}.",
	"webhook-endpoint.delete":     "{{who}} deleted the webhook {{what}}.",
	"webhook-endpoint.disable":    "{{who}} disabled the webhook {{what}}.",
	"webhook-endpoint.drop":       "Too many events are waiting for the webhook {{what}}. New events are dropped.",
	"webhook-endpoint.update":     "{{who}} edited the webhook {{what}}.",
}

// auditAreas lists the kinds of record in a tenant's audit log, in navigation order.
var auditAreas = []option{
	{"campaign", "Campaigns"},
	{"job", "Sends"},
	{"subscription", "People"},
	{"person", "Personal data"},
	{"import", "Imports"},
	{"segment", "Segments"},
	{"suppression", "Suppression list"},
	{"list", "Lists"},
	{"template", "Templates"},
	{"theme", "Design"},
	{"media", "Images"},
	{"tenant", "Settings"},
	{"domain", "Sender domains"},
	{"dkim", "DKIM keys"},
	{"role", "Roles"},
	{"invitation", "Invitations"},
	{"client", "API clients"},
	{"webhook-endpoint", "Webhooks"},
	{"webhook-client", "Webhook sources"},
	{"provider", "Mail providers"},
	{"relay", "Test emails"},
}

// auditPart is a part of a sentence. If To is not empty, the part is a link.
type auditPart struct{ Text, To string }

// auditSentence describes an audit log entry.
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
	switch shown, alone := archiveChange(e); {
	case alone && shown:
		rest = p.T("{{who}} showed {{what}} in the public archive.")
	case alone:
		rest = p.T("{{who}} hid {{what}} from the public archive.")
	case strings.HasPrefix(e.Action, "role.grant.") && e.Actor == "user:"+e.Object:
		rest = p.T("{{who}} joined the team.")
	}
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

// archiveChange reports whether an entry's only change shows or hides a campaign in the public archive.
func archiveChange(e *core.AuditEntry) (shown, alone bool) {
	var all map[string]core.AuditChange
	if e.Action != "campaign.update" || json.Unmarshal([]byte(e.Changes), &all) != nil || len(all) != 1 {
		return false, false
	}
	is, alone := all["archive"]
	return is.After == core.ArchiveShown, alone
}

// auditActor returns the actor of an entry, with a link to the actor's other entries.
func (p *Page) auditActor(e *core.AuditEntry) auditPart {
	kind, account, _ := strings.Cut(e.Actor, ":")
	to := p.Path("settings", "audit") + "?" + url.Values{"actor": {e.Actor}}.Encode()
	switch {
	case kind == "client" && e.ActorName != "":
		return auditPart{p.T("API client {{name}}", "name", e.ActorName), to}
	case kind == "client":
		return auditPart{p.T("A deleted API client"), to}
	case e.ActorName != "" && e.ClientName != "":
		return auditPart{p.T("{{name}} through {{client}}", "name", e.ActorName, "client", e.ClientName), to}
	case e.ActorName != "" && e.ClientID != "":
		return auditPart{p.T("{{name}} through a deleted API client", "name", e.ActorName), to}
	case e.ActorName != "":
		return auditPart{e.ActorName, to}
	case kind == "user":
		return auditPart{p.T("Someone without a role in this newsletter"), to}
	case kind == "command" && account != "":
		return auditPart{p.T("{{name}} (server)", "name", account), to}
	case kind == "command":
		return auditPart{p.T("The server administrator"), to}
	case kind == "daemon":
		return auditPart{"newsletterd", to}
	case e.Actor == core.AnotherTenant:
		return auditPart{p.T("Someone in another newsletter"), ""}
	}
	return auditPart{e.Actor, to}
}

// auditObject returns the changed record, with a link to its page if it has one.
func (p *Page) auditObject(e *core.AuditEntry) auditPart {
	noun, _, _ := strings.Cut(e.Action, ".")
	page := p.Path("settings", "audit") + "?" + url.Values{"object": {e.Object}}.Encode()
	if noun == "bulk_action" {
		return auditPart{p.T("bulk action"), p.Path("bulk", e.Object)}
	}
	if e.ObjectName == "" {
		if noun == "invitation" { // withdrawn or expired, or the person has left the team
			return auditPart{p.T("someone"), page}
		}
		if _, isID := core.ParseID(e.Object); isID {
			return auditPart{p.T("(deleted)"), page}
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
	case "segment":
		to = p.Path("segments", e.Object)
	case "import":
		to = p.Path("imports", e.Object)
	case "domain":
		to = p.Path("settings", "domains", e.Object)
	case "tenant":
		to = p.Path("settings")
	}
	return auditPart{e.ObjectName, to}
}
