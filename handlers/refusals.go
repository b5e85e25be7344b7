package handlers

import (
	"slices"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// refused is an answer to a field, or to the whole where it names none, and clash one of the state of things.
func refused(field, when string) web.Refusal {
	return web.Refusal{Kind: core.Invalid, Field: field, When: when}
}

func coded(code, field, when string) web.Refusal {
	return web.Refusal{Kind: core.Invalid, Code: code, Field: field, When: when}
}

func clash(when string) web.Refusal { return web.Refusal{Kind: core.Conflict, When: when} }

func clashing(code, field, when string) web.Refusal {
	return web.Refusal{Kind: core.Conflict, Code: code, Field: field, When: when}
}

// Refusals of several operations.
var (
	tenantNamed = refused("tenant_id", "Callers who have not one tenant alone must name one")
	fixedID     = refused("id", "It can't be changed")
	fixedTenant = refused("tenant_id", "It can't be changed")
	thereIsOne  = clashing("already_exists", "", "There is already such a record")
	twoSecrets  = clash("An earlier secret is still good: end it first")
	unusedToken = coded("invalid_token", "token", "It is unknown, used, or of another purpose")
	pastToken   = coded("token_expired", "token", "It has expired")
	weak        = coded("weak_password", "password", "It is too long, too short or too well known")
	weakNew     = coded("weak_password", "new_password", "It is too long, too short or too well known")
	badEmail    = coded("invalid_email", "email", "It is no address that mail is sent to")
	noZone      = refused("time_zone", "The IANA database has no such name")
	notAnAsset  = refused("", "The body is missing, or not well-formed multipart/form-data")
)

// all are the lists of refusals together.
func all(lists ...[]web.Refusal) []web.Refusal { return slices.Concat(lists...) }

// times are refusals of times of a campaign or a send job.
var times = []web.Refusal{
	refused("scheduled_at", "It is no time, lies in the past or outside the window, or lacks an offset"),
	refused("window_start", "It is no time, or lacks an offset"),
	refused("window_end", "It is no time, lies in the past, not after window_start, or lacks an offset"),
}

// saidByCampaign are refusals of what a campaign says.
var saidByCampaign = []web.Refusal{
	refused("list_ids", "The tenant has no such list, or one stands twice"),
	refused("audience.of", "The tenant has no such campaign"),
	refused("exclude_list_ids", "The tenant has no such list, one stands twice, or the campaign goes to it"),
	refused("exclude_campaign_ids", "The tenant has no such campaign, or one stands twice"),
	clash("Whom a campaign in audience or exclude_campaign_ids went to is not known, or it was not sent"),
	refused("from_email", "It lies in no domain of the tenant"),
	refused("reply_to", "It is no address that mail is sent to"),
	refused("test_addresses", "One is no address that mail is sent to"),
	refused("attachments", "The tenant has no such file, one stands twice, or they are too large together"),
	refused("theme", "The tenant has no such theme"),
	refused("content.source", "Its placeholders, or its blocks, are not well-formed"),
	refused("content.text", "Its placeholders are not well-formed"),
	refused("content.layout", "The tenant has no such template, or its layout is missing"),
	refused("subject", "Its placeholders are not well-formed"),
	refused("preheader", "Its placeholders are not well-formed"),
	refused("template", "It is too large"),
	refused("utm.source", "It has placeholders"), refused("utm.medium", "It has placeholders"),
	refused("utm.campaign", "It has placeholders"), refused("utm.term", "It has placeholders"),
	refused("utm.content", "It has placeholders"),
}

// readyToSend are refusals of a campaign that something keeps from being sent, as findings says.
var readyToSend = all(saidByCampaign, []web.Refusal{
	refused("name", "It is missing"), refused("", "Something keeps it from being sent: findings says what"),
	refused("tenant_id", "Something of the tenant keeps it from being sent: findings says what"),
	clash("It is in a state in which this can't be done, or at another version"),
	clashing("list_inactive", "", "The list is not active"),
	clashing("tenant_suspended", "", "The tenant is suspended"),
})

// ofTheme are refusals of what a theme says.
var ofTheme = []web.Refusal{
	tenantNamed,
	refused("name", "It is the name of a built-in theme, or an id"),
	refused("base", "It can't be changed"),
	refused("social[].name", "It has nothing to read, or placeholders"),
	refused("social[].url", "It is no absolute URL"),
	refused("logo_url", "It is no absolute URL"),
	clash("The tenant has as many themes as it may have"), thereIsOne,
}

// mailTexts are the mails whose texts a tenant and a list may write.
var mailTexts = []string{"confirm", "subscribed", "unsubscribed", "preferences"}

// ofMailTexts are refusals of the texts of mails.
func ofMailTexts() (out []web.Refusal) {
	for _, of := range mailTexts {
		for _, part := range []string{".subject", ".text"} {
			out = append(out, refused("mail_texts."+of+part, "It has other placeholders than those that it knows"))
		}
	}
	return out
}

// disabling are refusals of switching an address off.
var disabling = []web.Refusal{
	refused("disable_scope", "It can be tenant for callers who are bound to a tenant alone"), badEmail,
}

// changedCampaigns are refusals of what a changed campaign says.
var changedCampaigns = all(saidByCampaign, []web.Refusal{
	fixedTenant, clash("It is in a state in which it can't be written on"),
})

// saidByClient are refusals of what an OAuth client says.
var saidByClient = []web.Refusal{
	fixedID, fixedTenant,
	refused("redirect_uris[]", "It is no https URL, none of loopback, and has no private-use scheme"),
	refused("post_logout_redirect_uris[]", "It is no https URL, none of loopback, and has no private-use scheme"),
	refused("require_pkce", "The client is public: it needs PKCE"),
	refused("grant_types", "The client is public"),
	refused("token_endpoint_auth_method", "It doesn't fit the client_type that the client has"),
}

// saidByList are refusals of what a list says.
var saidByList = all(ofMailTexts(), []web.Refusal{
	fixedID, fixedTenant,
	refused("fields[].name", "It stands twice, or is email or source"),
	refused("fields[].options[]", "It stands twice"),
	refused("slug", "Another list at this host has it"),
	refused("subscribe_redirect_url", "It is neither an absolute https URL nor http on this machine"),
	refused("confirm_redirect_url", "It is neither an absolute https URL nor http on this machine"),
	refused("unsubscribe_redirect_url", "It is neither an absolute https URL nor http on this machine"),
})

// saidByTemplate are refusals of what a template says.
var saidByTemplate = []web.Refusal{
	tenantNamed, fixedTenant, refused("layout", "It is the name of no other template"),
	refused("body_html", "Its placeholders are not well-formed, or the template would be without a body"),
	refused("body_text", "Its placeholders are not well-formed"),
	refused("subject", "Its placeholders are not well-formed"), thereIsOne,
}

// saidByTenant are refusals of what a tenant says.
var saidByTenant = all(ofMailTexts(), []web.Refusal{
	fixedID,
	refused("domains[]", "It is no domain name"),
	clashing("domain_taken", "domains", "It, or one above it, is verified for another tenant"),
	refused("mail_from", "It lies in none of the tenant's domains, or is no address that mail is sent to"),
	refused("reply_to", "It is no address that mail is sent to"),
	refused("test_addresses", "One is no address that mail is sent to"),
	refused("public_url", "It is no origin, lies in none of the tenant's domains, or is another tenant's"),
	refused("brand_name", "It has a URL, a host name or an address"),
	refused("brand_logo_url", "It is neither an absolute https URL nor http on this machine"),
	refused("brand_color", "It is not written #rrggbb"),
	refused("privacy_url", "It is no absolute URL, or its host is no whole name"),
	refused("relays[].host", "It is neither a host name nor an IP address"),
	refused("relays[].port", "It is none"),
	refused("relays[].tls", "It may be none for a relay on the daemon's machine alone"),
	refused("relays[].password", "A username needs a password, and a password a username, without control characters"),
	refused("relays[].dkim_skip", "One is no name of a header field"), noZone, thereIsOne,
})
