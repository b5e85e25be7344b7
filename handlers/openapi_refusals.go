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

// refusals are what requests are refused for beyond the schemas: by schema of the input and by operationId. `make
// schemathesis` finds those that are missing.
var refusals = map[string][]web.Refusal{
	// Identity.
	"LoginRequest": {
		coded("invalid_grant", "", "The address or the password is wrong, or the account has a second factor or a passkey"),
		coded("invalid_grant", "otp", "The code is wrong, or was used"),
		coded("invalid_scope", "", "None of the scopes can be given"),
	},
	"RefreshTokenRequest": {
		coded("invalid_grant", "", "The token is unknown, or good no longer"),
		coded("unauthorized_client", "", "The client may not use this grant, or its tenant is suspended"),
	},
	"createToken": {
		coded("invalid_grant", "", "The code or the token is unknown or good no longer, or doesn't fit the request before"),
		coded("invalid_scope", "", "None of the scopes can be given"),
		coded("unauthorized_client", "", "The client may not use this grant, or its tenant is suspended"),
		refused("client_id", "The client authenticates in two ways"),
	},
	"introspectToken": {refused("client_id", "The client authenticates in two ways")},
	"revokeToken":     {refused("client_id", "The client authenticates in two ways")},
	"ResetRequest":    {unusedToken, pastToken, weakNew},
	"RegisterRequest": {
		weak, badEmail, clashing("already_exists", "email", "There is already a user with this address"),
	},
	"verifyEmail": {unusedToken, pastToken},
	"NewUser": {
		badEmail, clashing("already_exists", "email", "There is already a user with this address"),
	},
	"updateUser": {
		badEmail, clashing("already_exists", "email", "There is already a user with this address"),
		clash("The user is the caller, or the last operator"),
	},
	"deleteUser": {clash("The user is the caller, or the last operator")},
	"eraseUser":  {clash("The user is the caller, or the last operator")},
	"revokeRole": {clash("The user is the caller, or the last operator")},
	"resetSecondFactor": {
		clash("The user has no second factor, or is the caller"),
	},
	"listTeam":         {tenantNamed},
	"removeTeammate":   {tenantNamed, clash("The teammate is the caller, or has a role in no tenant")},
	"updateTeammate":   {tenantNamed, clash("The teammate is the caller, or has a role in no tenant")},
	"createInvitation": {badEmail},
	"ClientInput": {
		fixedID, fixedTenant,
		refused("redirect_uris[]", "It is no https URL, none of loopback, and has no private-use scheme"),
		refused("post_logout_redirect_uris[]", "It is no https URL, none of loopback, and has no private-use scheme"),
		refused("require_pkce", "The client is public: it needs PKCE"),
		refused("grant_types", "The client is public"),
		refused("token_endpoint_auth_method", "It doesn't fit the client_type that the client has"),
	},
	"rotateOAuthClientSecret": {twoSecrets, clash("A public client has no secret")},
	"endOldOAuthClientSecret": {clash("A public client has no secret")},
	"rotateSigningKeys":       {clash("The next keys wait already")},

	// Tenants and lists.
	"TenantInput": all(ofMailTexts(), []web.Refusal{
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
	}),
	"testRelay": {
		refused("relay_id", "It is no relay of the tenant"), badEmail,
		clashing("suppressed", "email", "The address is switched off"),
	},
	"ListInput": all(ofMailTexts(), []web.Refusal{
		fixedID, fixedTenant,
		refused("fields[].name", "It stands twice, or is email or source"),
		refused("fields[].options[]", "It stands twice"),
		refused("slug", "Another list at this host has it"),
		refused("subscribe_redirect_url", "It is neither an absolute https URL nor http on this machine"),
		refused("confirm_redirect_url", "It is neither an absolute https URL nor http on this machine"),
		refused("unsubscribe_redirect_url", "It is neither an absolute https URL nor http on this machine"),
	}),
	"startFullSync":         {clash("A sync of the list is on its way, or another service feeds the list")},
	"compareNewsletterList": {clash("The send side is another service")},
	"NewSenderDomain": {
		tenantNamed,
		refused("domain", "It is no domain name, one below which anyone may register, or too long"),
		thereIsOne, clash("The tenant has as many domains as it may have"),
		clashing("domain_taken", "", "It, or one above it, is verified for another tenant"),
		clashing("domain_taken", "domain", "It, or one above it, is verified for another tenant"),
	},
	"deleteSenderDomain": {
		clashing("domain_in_use", "", "mail_from, or a send job that has not ended, mails from it"),
	},
	"checkSenderDomain": {
		clash("The tenant has as many domains as it may have"),
		clashing("domain_taken", "", "It, or one above it, is verified for another tenant"),
	},
	"verifySenderDomain": {
		clash("The tenant has as many domains as it may have"),
		clashing("domain_taken", "", "It, or one above it, is verified for another tenant"),
	},
	"NewDKIMKey": {
		refused("domain", "It is no domain name, or none of the tenant's"),
		refused("selector", "It is no selector, or the domain isn't proved yet"),
		refused("status", "The domain isn't proved yet"),
		refused("algorithm", "The domain has no RSA key yet, which large receivers need"),
		clashing("already_exists", "", "The domain has a key with this selector"),
		clash("The tenant has as many keys as it may have"),
	},
	"updateDKIMKey":          {refused("domain", "It is none of the tenant's any more: such a key can't be active")},
	"getLinkedDomainRecords": {refused("token", "It is unknown, or good no longer")},
	"ThemeInput":             ofTheme,
	"NewTheme":               ofTheme,
	"deleteTheme":            {clashing("theme_in_use", "", "A campaign that is a draft or in review has it")},

	"listTemplates": {tenantNamed},
	"listThemes":    {tenantNamed},
	"TemplateInput": {
		tenantNamed, fixedTenant, refused("layout", "It is the name of no other template"),
		refused("body_html", "Its placeholders are not well-formed, or the template would be without a body"),
		refused("body_text", "Its placeholders are not well-formed"),
		refused("subject", "Its placeholders are not well-formed"), thereIsOne,
	},
	"deleteTemplate":  {clashing("template_in_use", "", "Something uses it: force deletes it all the same")},
	"previewTemplate": {clashing("layout_missing", "", "Its layout is no template of the tenant")},

	// Subscribers.
	"SubscribeRequest": {
		badEmail, coded("list_inactive", "", "The list takes no subscriptions at present"),
		refused("preferences", "They are too large, or nest too deep"),
		refused("source", "It is too long, or has control characters"),
	},
	"confirmSubscription": {
		unusedToken, pastToken, coded("list_inactive", "", "The list takes no subscriptions at present"),
	},
	"TokenBody": {unusedToken, pastToken},
	"PreferencesRequest": {
		badEmail, refused("preferences", "They are too large, or nest too deep"),
	},
	"getPreferences":                        {badEmail},
	"ListAndEmail":                          {badEmail},
	"disableSubscriptions":                  disabling,
	"disableSubscriptionsByItsDeclaredPath": disabling,
	"listJobRecipients":                     {refused("search", "It is too long")},
	"exportRecipients":                      {refused("search", "It is too long")},
	"listSubscribers": {
		refused("field", "It is missing with value, or has quotes or backslashes"),
		refused("email_prefix", "It is too long"), refused("search", "It is too long"), badEmail,
	},
	"addSubscriber": {
		badEmail, coded("list_inactive", "", "The list takes no subscriptions at present"),
		refused("preferences", "They are too large, or nest too deep"),
		clashing("suppressed", "", "The address is not mailed"), thereIsOne,
		clashing("unsubscribed", "", "The reader has left"),
		clash("Another service keeps the list"),
	},
	"updateSubscriber": {
		refused("preferences", "They are too large, or nest too deep"), clash("Another service keeps the subscription"),
	},
	"askAgain": {
		coded("list_inactive", "", "The list takes no subscriptions at present"),
		clash("The mails of these months were not measured"),
	},
	"unsubscribeEverywhere": {tenantNamed, badEmail},
	"createSuppression":     {tenantNamed, badEmail},
	"updateSuppression":     {tenantNamed, badEmail},
	"liftSuppression":       {tenantNamed, badEmail},
	"listSuppressions":      {badEmail},
	"uploadImport": {
		refused("", "The file is missing, or can't be read"),
		clash("The tenant has as many open imports as it may have, or another service keeps the list"),
	},
	"runImport": {
		refused("mapping", "The file has no such columns, or two for one field"),
		refused("status", "It doesn't fit the list"), clash("The import has begun, or has ended"),
	},
	"planImportUndo": {clash("The import has not ended, changed no one, was taken back, or ended over a week ago")},
	"undoImport":     {clash("The import has not ended, changed no one, was taken back, or ended over a week ago")},
	"cancelImport":   {clash("The import has ended")},
	"deleteImport":   {clash("The import is running, or is being taken back")},

	// Webhooks and providers.
	"NewEndpoint": {
		tenantNamed, refused("url", "It is no URL of a public host, or has a user, a password or a fragment"),
		refused("list_id", "The tenant has no such list"), clash("The tenant has as many receivers as it may have"),
	},
	"EndpointChange": {
		refused("url", "It is no URL of a public host, or has a user, a password or a fragment"),
		refused("list_id", "The tenant has no such list"), fixedTenant,
	},
	"rotateWebhookEndpointSecret": {twoSecrets},
	"createWebhookClient":         {clash("The tenant has as many senders as it may have")},
	"rotateWebhookClientSecret":   {twoSecrets},
	"createMailProvider": {
		thereIsOne, clash("A provider of the configuration has the name"),
		refused("name", "It is the address of another webhook"),
		refused("secret", "It is none of this kind"), refused("topics[]", "It is none of this kind"),
		refused("topics", "It is none of this kind"),
	},
	"updateMailProvider": {
		refused("topics", "Its kind has none, or needs one"), refused("topics[]", "It is none of this kind"),
		clash("The configuration has it, or it is of a kind that the program doesn't know"),
	},
	"deleteMailProvider": {clash("The configuration has it, or the daemon makes it at its start")},
	"rotateMailProviderSecret": {
		twoSecrets, refused("secret", "It is none of its kind, or missing where the provider gives it"),
		clash("Its kind has no secret, or the configuration has it"),
	},
	"endOldMailProviderSecret": {clash("The configuration has it")},
	"retryMails":               {clash("The link of the mail is no longer good")},

	// Campaigns and send jobs.
	"listMedia": {tenantNamed}, "createCampaign": all(saidByCampaign, []web.Refusal{tenantNamed}),
	"listCampaigns": {tenantNamed}, "ChangedCampaign": all(saidByCampaign, []web.Refusal{
		fixedTenant, clash("It is in a state in which it can't be written on"),
	}),
	"deleteCampaign":  {clash("It has, or had, a send job")},
	"archiveCampaign": {clash("It is neither a draft nor sent")},
	"undoCampaign":    {clash("There is no sending to undo, or it is going out")},
	"rejectCampaign":  {clash("There is no approval to refuse or take back")},
	"requestReview":   readyToSend,
	"approveCampaign": readyToSend,
	"sendCampaign":    all(readyToSend, times, []web.Refusal{noZone}),
	"previewCampaign": all(saidByCampaign, []web.Refusal{
		refused("email", "It is no subscriber of the list"), badEmail,
		refused("correction.source", "Its placeholders, or its blocks, are not well-formed"),
		refused("correction.text", "Its placeholders are not well-formed, or the kind has none"),
		refused("correction.subject", "Its placeholders are not well-formed"),
	}),
	"checkCampaign": saidByCampaign,
	"testCampaign": all(readyToSend, []web.Refusal{
		refused("to", "No mail may go there, or there is none to send it to"),
	}),
	"correctCampaign": all(saidByCampaign, []web.Refusal{
		refused("source", "Its placeholders are not well-formed"),
		refused("text", "Its placeholders are not well-formed, or the kind has none"),
		clash("It was not sent, or is in another kind"),
	}),
	"mendCampaignLink": {refused("target", "It is no whole http or https address, or leads here again")},
	"proposeCampaignLink": {
		refused("target", "It is no whole http or https address, leads here again, or is where the link leads already"),
	},
	"takeBackCampaignCorrection": {
		clash("It was not sent"),
	},
	"restoreCampaignVersion": {clash("It is in a state in which it can't be written on")},
	"uploadMedia": {
		tenantNamed, notAnAsset, coded("unsupported_picture", "file",
			"It is none that is known, or has more than is taken"),
		coded("invalid_picture", "file", "It is broken or cut off"),
		refused("alt", "A decorative picture has an empty one"), refused("name", "It is empty"),
		refused("file", "It is missing, or stands twice"),
	},
	"updateMedia": {refused("alt", "A decorative picture has an empty one")},
	"deleteMedia": {clashing("media_in_use", "", "Something shows it: force deletes it all the same")},
	"createJob": all(times, []web.Refusal{
		refused("list_id", "There is no such list"), refused("tenant_id", "The list is another tenant's"),
		refused("body_html", "Its placeholders are not well-formed"),
		refused("body_text", "Its placeholders are not well-formed"),
		refused("subject", "Its placeholders are not well-formed"),
		refused("template.mailer_template_name", "It is no text, or no template has the name"),
		refused("template.preheader", "It is no text"),
		refused("template.unsubscribe_url", "It is no absolute URL, or has no {{unsubscribe_token}}"),
		clash("The same job was made a short time ago"),
		clashing("list_inactive", "", "The list is not active"),
		clashing("tenant_suspended", "", "The tenant is suspended"),
	}),
	"previewJob": {
		refused("email", "It is no subscriber of the list, or another one in the body than in the address"), badEmail,
	},
	"listMailsToAddress": {badEmail},
	"sendTestMail":       {refused("email", "No mail may go there"), badEmail},
	"pauseJob":           {clash("The job has ended, or is paused")},
	"retryOutboxEvent":   {clash("Too many events wait for the endpoint")},
	"resumeJob":          {clash("The job has ended, is not paused, or waits for something else")},
	"retryJob":           {clash("The job has not ended, has left nobody out, or was retried")},
	"receiveSubscriptionEvent": {
		clashing("duplicate_event", "", "It was accepted before"), clashing("replayed_nonce", "", "The nonce was used"),
		refused("list_id", "The tenant has no such list"),
		coded("invalid_email", "subscriber.email", "It is no address that mail is sent to"),
	},
	"receiveFullSyncBatch": {
		clashing("duplicate_batch", "", "It was accepted before"), clashing("replayed_nonce", "", "The nonce was used"),
		refused("list_id", "The tenant has no such list, or the sync is about another one"),
		refused("batch_no", "It is greater than batch_total"),
		refused("batch_total", "The sync has another number of batches"),
		coded("invalid_email", "subscribers[].email", "It is no address that mail is sent to"),
	},
	"receiveProviderEvents": {
		refused("", "The body is none of the provider's form"),
		refused("event_type", "It is missing, or none that is known"), refused("message_id",
			"It is missing, or too long"),
		refused("occurred_at", "It is missing"), badEmail,
	},

	// Devices and models.
	"pairDevice": {
		clashing("conflict", "representative", "There is a representative device"),
		clash("There are as many as there may be"), thereIsOne,
	},
	"createAgent":  {clash("There are as many as there may be"), thereIsOne},
	"updateDevice": {clashing("conflict", "representative", "There is a representative device")},
	"registerDevice": {
		clashing("ALREADY_REGISTERED", "", "It is registered"),
		clashing("REPRESENTATIVE_DEVICE", "", "It is the representative device"),
	},
	"listLibrary": {
		coded("invalid_cursor", "cursor", "It is of another list, filter or caller"),
		refused("access", "It is about models of others, and owner about one's own"),
	},
	"uploadModel": {
		notAnAsset, refused("name", "It is empty, too long, or has control characters"),
		refused("description", "It is too long, or has control characters"),
		coded("invalid_visibility", "visibility", "It is none of private, tenant and public"),
		clash("The owner has as many models as one may have"), refused("file", "It is missing, or stands twice"),
		clashing("upload_under_way", "", "The upload is under way"),
		clashing("upload_offset", "Upload-Offset", "Another number of bytes is kept"),
		refused("Upload-Offset", "It stands without Upload-Key"),
		refused("", "The file goes on after its end, or waited too long for the rest"),
	},
	"createModelShare": {
		thereIsOne, refused("", "The owner of a model needs no share of it"), badEmail,
	},
	"updateModelShare": {refused("user_id", "It can't be changed"), refused("email", "It can't be changed")},
}

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
