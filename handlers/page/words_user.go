package page

import (
	"strconv"
	"strings"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// userWords holds the strings on users' pages and in errors on all pages in one language. Additional placeholders are
// {{client}}, {{target}}, {{when}}, {{count}}, {{scopes}}, {{name}}, {{browser}} and {{system}}.
type userWords struct {
	ThisNewsletter     string `json:"this_newsletter"`
	AlreadyTitle       string `json:"already_title"`
	AlreadyText        string `json:"already_text"`
	HomeTitle          string `json:"home_title"`
	HomeText           string `json:"home_text"`
	HomeNone           string `json:"home_none"`
	HomeManage         string `json:"home_manage"`
	MissingText        string `json:"missing_text"`
	RecordText         string `json:"record_text"`
	ListText           string `json:"list_text"`
	BusyText           string `json:"busy_text"`
	UnavailableText    string `json:"unavailable_text"`
	ManyText           string `json:"many_text"`
	LoginsText         string `json:"logins_text"`
	InternalText       string `json:"internal_text"`
	SiteText           string `json:"site_text"`
	MalformedText      string `json:"malformed_text"`
	FaultCredentials   string `json:"fault_credentials"`
	FaultPassword      string `json:"fault_password"`
	FaultShort         string `json:"fault_short"`
	FaultLong          string `json:"fault_long"`
	FaultCommon        string `json:"fault_common"`
	FaultClosed        string `json:"fault_closed"`
	FaultExists        string `json:"fault_exists"`
	FaultName          string `json:"fault_name"`
	SignIn             string `json:"sign_in"`
	SignInFor          string `json:"sign_in_for"`
	Password           string `json:"password"`
	ForgotLink         string `json:"forgot_link"`
	SignUp             string `json:"sign_up"`
	SignUpHint         string `json:"sign_up_hint"`
	SignUpSent         string `json:"sign_up_sent"`
	HaveAccount        string `json:"have_account"`
	ForgotText         string `json:"forgot_text"`
	ForgotButton       string `json:"forgot_button"`
	BackSignIn         string `json:"back_sign_in"`
	ForgotSent         string `json:"forgot_sent"`
	ForgotHint         string `json:"forgot_hint"`
	NewPassword        string `json:"new_password"`
	NewPasswordFor     string `json:"new_password_for"`
	NewPasswordHint    string `json:"new_password_hint"`
	NewPasswordButton  string `json:"new_password_button"`
	ClaimText          string `json:"claim_text"`
	PasswordSetTitle   string `json:"password_set_title"`
	PasswordSetText    string `json:"password_set_text"`
	OverTitle          string `json:"over_title"`
	OverText           string `json:"over_text"`
	OverButton         string `json:"over_button"`
	VerifyTitle        string `json:"verify_title"`
	VerifyText         string `json:"verify_text"`
	VerifyHint         string `json:"verify_hint"`
	VerifyButton       string `json:"verify_button"`
	VerifiedTitle      string `json:"verified_title"`
	VerifiedText       string `json:"verified_text"`
	ToAccount          string `json:"to_account"`
	ToConsole          string `json:"to_console"`
	ToHome             string `json:"to_home"`
	SetupTitle         string `json:"setup_title"`
	SetupText          string `json:"setup_text"`
	SetupButton        string `json:"setup_button"`
	SetupOver          string `json:"setup_over"`
	InvitationTitle    string `json:"invitation_title"`
	InvitationFrom     string `json:"invitation_from"`
	InvitationRole     string `json:"invitation_role"`
	InvitationFor      string `json:"invitation_for"`
	InvitationButton   string `json:"invitation_button"`
	InvitationSignIn   string `json:"invitation_sign_in"`
	InvitationOver     string `json:"invitation_over"`
	InvitationDone     string `json:"invitation_done"`
	InvitationDoneText string `json:"invitation_done_text"`
	ChangeTitle        string `json:"change_title"`
	ChangeText         string `json:"change_text"`
	ChangeButton       string `json:"change_button"`
	ChangeNot          string `json:"change_not"`
	ChangeSignIn       string `json:"change_sign_in"`
	ChangedTitle       string `json:"changed_title"`
	ChangedText        string `json:"changed_text"`
	ConsentTitle       string `json:"consent_title"`
	ConsentText        string `json:"consent_text"`
	Allow              string `json:"allow"`
	Cancel             string `json:"cancel"`
	ConsentTarget      string `json:"consent_target"`
	ConsentAccount     string `json:"consent_account"`
	ConsentNot         string `json:"consent_not"`
	ConsentOther       string `json:"consent_other"`
	ScopeOpenid        string `json:"scope_openid"`
	ScopeProfile       string `json:"scope_profile"`
	ScopeNewsletters   string `json:"scope_newsletters"`
	ScopeDevices       string `json:"scope_devices"`
	ScopeModelsRead    string `json:"scope_models_read"`
	ScopeModelsWrite   string `json:"scope_models_write"`
	ScopeEmail         string `json:"scope_email"`
	ScopeOffline       string `json:"scope_offline"`
	ScopeListRead      string `json:"scope_list_read"`
	ScopeEventsWrite   string `json:"scope_events_write"`
	ScopeSend          string `json:"scope_send"`
	ScopeAdmin         string `json:"scope_admin"`
	AllowedTo          string `json:"allowed_to"`
	LogoutTitle        string `json:"logout_title"`
	LogoutText         string `json:"logout_text"`
	LogoutClient       string `json:"logout_client"`
	SignOut            string `json:"sign_out"`
	Stay               string `json:"stay"`
	SignedOutTitle     string `json:"signed_out_title"`
	SignedOutText      string `json:"signed_out_text"`
	SignInAgain        string `json:"sign_in_again"`
	LogoutFaultTitle   string `json:"logout_fault_title"`
	SignOutHere        string `json:"sign_out_here"`
	LoginFaultTitle    string `json:"login_fault_title"`
	LoginFaultText     string `json:"login_fault_text"`
	PostTitle          string `json:"post_title"`
	PostText           string `json:"post_text"`
	GoOn               string `json:"go_on"`
	AccountTitle       string `json:"account_title"`
	Name               string `json:"name"`
	SaveName           string `json:"save_name"`
	Verified           string `json:"verified"`
	NotVerified        string `json:"not_verified"`
	VerifyAgain        string `json:"verify_again"`
	ChangeUnderWay     string `json:"change_under_way"`
	KeepAddress        string `json:"keep_address"`
	NewAddress         string `json:"new_address"`
	PresentPassword    string `json:"present_password"`
	ChangeHint         string `json:"change_hint"`
	ChangeAddress      string `json:"change_address"`
	ChangePasswordHint string `json:"change_password_hint"`
	ChangePassword     string `json:"change_password"`
	Browsers           string `json:"browsers"`
	ThisOne            string `json:"this_one"`
	Programs           string `json:"programs"`
	End                string `json:"end"`
	Allowed            string `json:"allowed"`
	TakeBack           string `json:"take_back"`
	SignOutEverywhere  string `json:"sign_out_everywhere"`
	DisableClients     string `json:"disable_clients"`
	ClientsStay        string `json:"clients_stay"`
	DidName            string `json:"did_name"`
	DidVerify          string `json:"did_verify"`
	DidEmail           string `json:"did_email"`
	DidKeep            string `json:"did_keep"`
	DidPassword        string `json:"did_password"`
	DidBrowser         string `json:"did_browser"`
	DidProgram         string `json:"did_program"`
	DidDisallow        string `json:"did_disallow"`
	UnknownProgram     string `json:"unknown_program"`
	BrowserOn          string `json:"browser_on"`
	SignedInAt         string `json:"signed_in_at"`
	Since              string `json:"since"`
	UsedNow            string `json:"used_now"`
	UsedToday          string `json:"used_today"`
	UsedAt             string `json:"used_at"`
	FaultCode          string `json:"fault_code"`
	CodesText          string `json:"codes_text"`
	FaultOver          string `json:"fault_over"`
	FaultUnverified    string `json:"fault_unverified"`
	CodeTitle          string `json:"code_title"`
	CodeText           string `json:"code_text"`
	CodeLost           string `json:"code_lost"`
	Code               string `json:"code"`
	TwoStepTitle       string `json:"two_step_title"`
	TwoStepText        string `json:"two_step_text"`
	TwoStepDemanded    string `json:"two_step_demanded"`
	TwoStepSetUp       string `json:"two_step_set_up"`
	TwoStepScan        string `json:"two_step_scan"`
	TwoStepKey         string `json:"two_step_key"`
	TwoStepThen        string `json:"two_step_then"`
	TwoStepOn          string `json:"two_step_on"`
	TwoStepSince       string `json:"two_step_since"`
	TwoStepOff         string `json:"two_step_off"`
	TwoStepOffButton   string `json:"two_step_off_button"`
	DidTwoStepOff      string `json:"did_two_step_off"`
	RecoveryTitle      string `json:"recovery_title"`
	RecoveryText       string `json:"recovery_text"`
	RecoveryKept       string `json:"recovery_kept"`
	RecoveryLeft       string `json:"recovery_left"`
	RecoveryNone       string `json:"recovery_none"`
	RecoveryNew        string `json:"recovery_new"`
	RecoveryHint       string `json:"recovery_hint"`
	RecoveryButton     string `json:"recovery_button"`
	ProveTitle         string `json:"prove_title"`
	ProveText          string `json:"prove_text"`
	ProveStep          string `json:"prove_step"`
	ProveCancel        string `json:"prove_cancel"`
	ProveButton        string `json:"prove_button"`
	ProvePasskey       string `json:"prove_passkey"`
	PasskeySignIn      string `json:"passkey_sign_in"`
	PasskeysTitle      string `json:"passkeys_title"`
	PasskeysText       string `json:"passkeys_text"`
	PasskeysNone       string `json:"passkeys_none"`
	PasskeysCount      string `json:"passkeys_count"`
	PasskeysNeedHost   string `json:"passkeys_need_host"`
	PasskeysNeedHTTPS  string `json:"passkeys_need_https"`
	PasskeyAdd         string `json:"passkey_add"`
	PasskeyName        string `json:"passkey_name"`
	PasskeyNameHint    string `json:"passkey_name_hint"`
	PasskeyUnused      string `json:"passkey_unused"`
	PasskeyRename      string `json:"passkey_rename"`
	PasskeyRemove      string `json:"passkey_remove"`
	PasskeyRemoveText  string `json:"passkey_remove_text"`
	PasskeyRemoveYes   string `json:"passkey_remove_yes"`
	PasskeyUnsupported string `json:"passkey_unsupported"`
	PasskeyFailed      string `json:"passkey_failed"`
	DidPasskeyAdd      string `json:"did_passkey_add"`
	DidPasskeyRename   string `json:"did_passkey_rename"`
	DidPasskeyRemove   string `json:"did_passkey_remove"`
	FaultPasskey       string `json:"fault_passkey"`
	FaultPasskeyGone   string `json:"fault_passkey_gone"`
	FaultPasskeyNeeded string `json:"fault_passkey_needed"`
	FaultPasskeyCopied string `json:"fault_passkey_copied"`
	FaultPasskeyKnown  string `json:"fault_passkey_known"`
	FaultPasskeysFull  string `json:"fault_passkeys_full"`
}

// AllowsTo describes what a space-separated list of scopes allows a client to do.
func (w *Words) AllowsTo(scope string) string {
	var all []string
	for _, s := range strings.Fields(scope) {
		all = append(all, w.Scope(s))
	}
	return FillIn(w.AllowedTo, "scopes", strings.Join(all, ", "))
}

// Browsers and systems in the order in which BrowserName looks for them, because user agents of the first ones also
// contain names of later ones.
var (
	browserWords = [][2]string{
		{"Edg/", "Edge"},
		{"OPR/", "Opera"},
		{"Firefox/", "Firefox"},
		{"Chromium/", "Chromium"},
		{"Chrome/", "Chrome"},
		{"Safari/", "Safari"},
	}
	systemWords = [][2]string{
		{"Android", "Android"},
		{"iPhone", "iPhone"},
		{"iPad", "iPad"},
		{"Windows", "Windows"},
		{"Mac OS X", "macOS"},
		{"Linux", "Linux"},
	}
)

// BrowserName returns a short name for the browser and system in a user agent.
func (w *Words) BrowserName(agent string) string {
	find := func(words [][2]string) string {
		for _, w := range words {
			if strings.Contains(agent, w[0]) {
				return w[1]
			}
		}
		return ""
	}
	browser, system := find(browserWords), find(systemWords)
	switch {
	case agent == "":
		return w.UnknownProgram
	case browser != "" && system != "":
		return FillIn(w.BrowserOn, "browser", browser, "system", system)
	case browser != "":
		return browser
	}
	name, _, _ := strings.Cut(agent, " ")
	return web.Truncate(name, 60)
}

// Scope describes what a scope allows a client to do.
func (w *Words) Scope(s string) string {
	switch s {
	case core.ScopeOpenID:
		return w.ScopeOpenid
	case core.ScopeProfile:
		return w.ScopeProfile
	case core.ScopeEmail:
		return w.ScopeEmail
	case core.ScopeOffline:
		return w.ScopeOffline
	case core.ScopeDevices:
		return w.ScopeDevices
	case core.ScopeModelsRead:
		return w.ScopeModelsRead
	case core.ScopeModelsWrite:
		return w.ScopeModelsWrite
	case core.ScopeListRead:
		return w.ScopeListRead
	case core.ScopeEventsWrite:
		return w.ScopeEventsWrite
	case core.ScopeSend:
		return w.ScopeSend
	case core.ScopeAdmin:
		return w.ScopeAdmin
	}
	return s
}

// Ago describes the time from then to now, such as when a browser was last used.
func (w *Words) Ago(now, then core.Instant) string {
	switch d := now.Sub(then); {
	case d < 2*time.Minute:
		return w.UsedNow
	case d < 24*time.Hour:
		return w.UsedToday
	}
	return FillIn(w.UsedAt, "when", w.When(then, nil))
}

// PasskeysMissing returns the reason why passkeys are not offered, or an empty string if they are.
func (w *Words) PasskeysMissing(p *auth.Provider) string {
	switch p.PasskeysMissing() {
	case auth.PasskeysNeedHost:
		return w.PasskeysNeedHost
	case auth.PasskeysNeedHTTPS:
		return w.PasskeysNeedHTTPS
	}
	return ""
}

// PasskeyCount returns the link text for the passkeys page, which contains the number of passkeys.
func (w *Words) PasskeyCount(keys []core.Passkey) string {
	if len(keys) == 0 {
		return w.PasskeyAdd
	}
	return FillIn(w.PasskeysCount, "count", strconv.Itoa(len(keys)))
}
