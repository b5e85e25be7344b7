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
	tenantNamed = refused("tenant_id", "Required if the caller has access to several tenants")
	fixedID     = refused("id", "This field can't be changed")
	fixedTenant = refused("tenant_id", "This field can't be changed")
	thereIsOne  = clashing("already_exists", "", "The record already exists")
	twoSecrets  = clash("The previous secret is still valid: end it first")
	unusedToken = coded("invalid_token", "token", "The token is unknown, used, or for another purpose")
	pastToken   = coded("token_expired", "token", "The token has expired")
	weak        = coded("weak_password", "password", "Too short, too long or too common")
	weakNew     = coded("weak_password", "new_password", "Too short, too long or too common")
	badEmail    = coded("invalid_email", "email", "Not a valid email address")
	noZone      = refused("time_zone", "Not an IANA time zone")
	notAnAsset  = refused("", "The body is missing or is malformed multipart/form-data")
)

// all are the lists of refusals together.
func all(lists ...[]web.Refusal) []web.Refusal { return slices.Concat(lists...) }

// times are refusals of times of a campaign or a send job.
var times = []web.Refusal{
	refused("scheduled_at", "Not a valid time, in the past, outside the window, or without an offset"),
	refused("window_start", "Not a valid time, or without an offset"),
	refused("window_end", "Not a valid time, in the past, not after window_start, or without an offset"),
}

// saidByCampaign are refusals of what a campaign says.
var saidByCampaign = []web.Refusal{
	refused("list_ids", "The tenant has no such list, or a list appears twice"),
	refused("audience.of", "The tenant has no such campaign"),
	refused("exclude_list_ids", "The tenant has no such list, a list appears twice, or the campaign is sent to it"),
	refused("exclude_campaign_ids", "The tenant has no such campaign, or a campaign appears twice"),
	clash("A campaign in audience or exclude_campaign_ids wasn't sent, or its recipients are no longer known"),
	refused("from_email", "Not in one of the tenant's domains"),
	refused("reply_to", "Not a valid email address"),
	refused("test_addresses", "Contains an invalid email address"),
	refused("attachments", "The tenant has no such file, a file appears twice, or the total is too large"),
	refused("theme", "The tenant has no such theme"),
	refused("content.source", "The placeholders or blocks are malformed"),
	refused("content.text", "The placeholders are malformed"),
	refused("content.layout", "The tenant has no such template, or the template's layout is missing"),
	refused("subject", "The placeholders are malformed"),
	refused("preheader", "The placeholders are malformed"),
	refused("template", "Too large"),
	refused("utm.source", "Contains placeholders"), refused("utm.medium", "Contains placeholders"),
	refused("utm.campaign", "Contains placeholders"), refused("utm.term", "Contains placeholders"),
	refused("utm.content", "Contains placeholders"),
}

// readyToSend are refusals of a campaign that something keeps from being sent, as findings says.
var readyToSend = all(saidByCampaign, []web.Refusal{
	refused("name", "Missing"), refused("", "The campaign can't be sent; findings lists the reasons"),
	refused("tenant_id", "The tenant's settings prevent sending; findings lists the reasons"),
	clash("Not possible in the campaign's current state, or the version is outdated"),
	clashing("list_inactive", "", "The list isn't active"),
	clashing("tenant_suspended", "", "The tenant is suspended"),
})

// ofTheme are refusals of what a theme says.
var ofTheme = []web.Refusal{
	tenantNamed,
	refused("name", "The name is an ID or the name of a built-in theme"),
	refused("base", "This field can't be changed"),
	refused("social[].name", "Blank, or contains placeholders"),
	refused("social[].url", "Not an absolute URL"),
	refused("logo_url", "Not an absolute URL"),
	clash("The tenant has reached its limit for themes"), thereIsOne,
}

// mailTexts are the mails whose texts a tenant and a list may write.
var mailTexts = []string{"confirm", "subscribed", "unsubscribed", "preferences"}

// ofMailTexts are refusals of the texts of mails.
func ofMailTexts() (out []web.Refusal) {
	for _, of := range mailTexts {
		for _, part := range []string{".subject", ".text"} {
			out = append(out, refused("mail_texts."+of+part, "Contains an unknown placeholder"))
		}
	}
	return out
}

// disabling are refusals of switching an address off.
var disabling = []web.Refusal{
	refused("disable_scope", "Callers bound to a tenant can only use tenant"), badEmail,
}

// changedCampaigns are refusals of what a changed campaign says.
var changedCampaigns = all(saidByCampaign, []web.Refusal{
	fixedTenant, clash("The campaign can't be edited in its current state"),
})

// saidByClient are refusals of what an OAuth client says.
var saidByClient = []web.Refusal{
	fixedID, fixedTenant,
	refused("redirect_uris[]", "Not an https URL, a loopback URL or a private-use scheme"),
	refused("post_logout_redirect_uris[]", "Not an https URL, a loopback URL or a private-use scheme"),
	refused("require_pkce", "Public clients need PKCE"),
	refused("grant_types", "Public clients can't use this grant"),
	refused("token_endpoint_auth_method", "Doesn't match the client's client_type"),
}

// saidByList are refusals of what a list says.
var saidByList = all(ofMailTexts(), []web.Refusal{
	fixedID, fixedTenant,
	refused("fields[].name", "The name is used twice, or is email or source"),
	refused("fields[].options[]", "The value appears twice"),
	refused("slug", "Another list on this host uses this slug"),
	refused("subscribe_redirect_url", "Not an absolute https URL, and not http on the local machine"),
	refused("confirm_redirect_url", "Not an absolute https URL, and not http on the local machine"),
	refused("unsubscribe_redirect_url", "Not an absolute https URL, and not http on the local machine"),
})

// saidByTemplate are refusals of what a template says.
var saidByTemplate = []web.Refusal{
	tenantNamed, fixedTenant, refused("layout", "No other template has this name"),
	refused("body_html", "The placeholders are malformed, or the template would have no body"),
	refused("body_text", "The placeholders are malformed"),
	refused("subject", "The placeholders are malformed"), thereIsOne,
}

// saidByTenant are refusals of what a tenant says.
var saidByTenant = all(ofMailTexts(), []web.Refusal{
	fixedID,
	refused("domains[]", "Not a domain name"),
	clashing("domain_taken", "domains", "The domain or its parent is verified for another tenant"),
	refused("mail_from", "Not a valid address, or not in one of the tenant's domains"),
	refused("reply_to", "Not a valid email address"),
	refused("test_addresses", "Contains an invalid email address"),
	refused("public_url", "Not an origin, not in one of the tenant's domains, or used by another tenant"),
	refused("brand_name", "Contains a URL, a host name or an email address"),
	refused("brand_logo_url", "Not an absolute https URL, and not http on the local machine"),
	refused("brand_color", "Not a color of the form #rrggbb"),
	refused("privacy_url", "Not an absolute URL with a full host name"),
	refused("relays[].host", "Not a host name or an IP address"),
	refused("relays[].port", "Not a valid port"),
	refused("relays[].tls", "none is only allowed for a relay on the same machine"),
	refused("relays[].password", "Username and password must be set together, without control characters"),
	refused("relays[].dkim_skip", "Contains an invalid header field name"), noZone, thereIsOne,
})
