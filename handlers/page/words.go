package page

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Words holds the strings on subscribers' pages in one language (pages/words). {{email}}, {{list}}, {{tenant}} and
// {{field}} are placeholders.
type Words struct {
	userWords
	archiveWords
	reviewWords
	trackingWords
	pollWords

	Privacy            string `json:"privacy"`
	Optional           string `json:"optional"`
	Choose             string `json:"choose"`
	Email              string `json:"email"`
	Request            string `json:"request"`
	ConfirmTitle       string `json:"confirm_title"`
	ConfirmText        string `json:"confirm_text"`
	ConfirmButton      string `json:"confirm_button"`
	ConfirmedTitle     string `json:"confirmed_title"`
	ConfirmedText      string `json:"confirmed_text"`
	ConfirmedLater     string `json:"confirmed_later"`
	ConfirmedLeave     string `json:"confirmed_leave"` // for lists without fields that subscribers can edit
	LeaveTitle         string `json:"leave_title"`
	LeaveText          string `json:"leave_text"`
	LeaveButton        string `json:"leave_button"`
	Why                string `json:"why"`
	WhyTooMany         string `json:"why_too_many"`
	WhyContent         string `json:"why_content"`
	WhyNeverAsked      string `json:"why_never_asked"`
	WhyOther           string `json:"why_other"`
	WhyWords           string `json:"why_words"`
	LeftTitle          string `json:"left_title"`
	LeftText           string `json:"left_text"`
	LeftAsked          string `json:"left_asked"`
	LeftAll            string `json:"left_all"`
	Mistake            string `json:"mistake"`
	UndoTitle          string `json:"undo_title"`
	UndoText           string `json:"undo_text"`
	UndoButton         string `json:"undo_button"`
	UndoneTitle        string `json:"undone_title"`
	UndoneText         string `json:"undone_text"`
	SubscribeTitle     string `json:"subscribe_title"`
	SubscribeButton    string `json:"subscribe_button"`
	SubscribeAfter     string `json:"subscribe_after"`
	CheckTitle         string `json:"check_title"`
	CheckText          string `json:"check_text"`
	CheckHint          string `json:"check_hint"`
	Again              string `json:"again"`
	FaultEmail         string `json:"fault_email"`
	FaultMissing       string `json:"fault_missing"`
	FaultUnchecked     string `json:"fault_unchecked"`
	FaultChoice        string `json:"fault_choice"`
	FaultText          string `json:"fault_text"`
	ManageTitle        string `json:"manage_title"`
	ManageText         string `json:"manage_text"`
	StatusActive       string `json:"status_active"`
	StatusPending      string `json:"status_pending"`
	StatusUnsubscribed string `json:"status_unsubscribed"`
	Details            string `json:"details"`
	NoDetails          string `json:"no_details"`
	Save               string `json:"save"`
	Saved              string `json:"saved"`
	Change             string `json:"change"`
	LeaveAll           string `json:"leave_all"`
	Data               string `json:"data"`
	DataText           string `json:"data_text"`
	Download           string `json:"download"`
	Erase              string `json:"erase"`
	EraseSure          string `json:"erase_sure"`
	EraseUnsure        string `json:"erase_unsure"`
	ErasedTitle        string `json:"erased_title"`
	ErasedText         string `json:"erased_text"`
	LinkText           string `json:"link_text"`
	LinkButton         string `json:"link_button"`
	LinkSent           string `json:"link_sent"`
	LinkMailed         string `json:"link_mailed"`
	AskTitle           string `json:"ask_title"`
	AskText            string `json:"ask_text"`
	MovedTitle         string `json:"moved_title"`
	MovedText          string `json:"moved_text"`
	Back               string `json:"back"`
	LinkExpired        string `json:"link_expired"`
	LinkBroken         string `json:"link_broken"`
	LinkGone           string `json:"link_gone"`
	LinkLeft           string `json:"link_left"`
	LinkNew            string `json:"link_new"`
	ListInactive       string `json:"list_inactive"`
	WrongTitle         string `json:"wrong_title"`
	MissingTitle       string `json:"missing_title"`
	ManyTitle          string `json:"many_title"`
	FailedTitle        string `json:"failed_title"`
}

// AllWords returns the pages' strings by language. They are read on the first call.
var AllWords = sync.OnceValue(func() map[string]*Words {
	all := map[string]*Words{}
	for _, lang := range core.Languages {
		b, err := files.ReadFile("pages/words/" + lang + ".json")
		if err != nil {
			panic(err)
		}
		w, d := new(Words), json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(w); err != nil {
			panic(fmt.Sprintf("pages/words/%s.json: %v", lang, err))
		}
		all[lang] = w
	}
	return all
})

type styleKey struct{}

// StyleOf returns the style of a request's pages. Changes to it affect the pages.
func StyleOf(c *web.Call) *Style {
	if s, ok := c.Value(styleKey{}).(*Style); ok {
		return s
	}
	s := new(Style)
	c.Keep(styleKey{}, s)
	return s
}

// Style is the style of a request's pages. The zero value is the server's own brand in English.
type Style struct {
	Brand          Brand
	Lang           string
	List, Tenant   string
	Email          core.Email
	Field, Fault   string // field of a form, and the error in it
	Link, LinkText string // URL and text of a link on an error page
}

// ApplyList gives this request's pages, including error pages, the style of a list's tenant.
func ApplyList(c *web.Call, list *core.ListWithTenant, email core.Email) {
	c.Tenant = list.TenantID
	*StyleOf(c) = Style{
		Brand: TenantBrand(OwnBrand(), &list.Tenant), Lang: list.PageLanguage(), List: list.Name,
		Email: email,
	}
	StyleOf(c).Tenant = StyleOf(c).Brand.Name
}

// WordsOf returns the strings for the request's pages in the language of their list or tenant. If there is none, it
// uses the browser's preferred language.
func WordsOf(c *web.Call) *Words {
	if StyleOf(c).Lang == "" {
		StyleOf(c).Lang = cmp.Or(c.Language(), core.Languages[0])
	}
	return StyleOf(c).Words()
}

// Words returns the strings in the style's language, or in the first language if the style has none.
func (s *Style) Words() *Words {
	if w := AllWords()[s.Lang]; w != nil {
		return w
	}
	return AllWords()[core.Languages[0]]
}

// Expand replaces the placeholders in text.
func (s *Style) Expand(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return core.Placeholders("{{email}}", string(s.Email), "{{list}}", s.List, "{{tenant}}", s.Tenant, "{{field}}",
		s.Field).Replace(text)
}

// Reason is a reason for unsubscribing that a subscriber may choose.
type Reason struct{ Word, Text string }

// Reasons returns the reasons for unsubscribing.
func (w *Words) Reasons() []Reason {
	return []Reason{
		{"too_many", w.WhyTooMany}, {"content", w.WhyContent}, {"never_asked", w.WhyNeverAsked}, {"other", w.WhyOther},
	}
}

// trackingWords holds the strings for consent to individual open and click tracking.
type trackingWords struct {
	TrackingText      string `json:"tracking_text"`
	TrackingTitle     string `json:"tracking_title"`
	TrackingNamed     string `json:"tracking_named"`
	TrackingWithdraw  string `json:"tracking_withdraw"`
	TrackingAgree     string `json:"tracking_agree"`
	TrackingWithdrawn string `json:"tracking_withdrawn"`
	TrackingAgreed    string `json:"tracking_agreed"`
	TrackingUnticked  string `json:"tracking_unticked"`
	TrackingInstead   string `json:"tracking_instead"`
}
