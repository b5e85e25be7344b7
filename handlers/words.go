package handlers

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/text/language"

	"newsletterd/core"
	"newsletterd/store"
)

// pageWords is what the pages of subscribers say in one language (pages/words). {{email}}, {{list}}, {{tenant}} and {{field}}
// stand for themselves.
type pageWords struct {
	userWords

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
	FaultChoice        string `json:"fault_choice"`
	FaultText          string `json:"fault_text"`
	ManageTitle        string `json:"manage_title"`
	ManageText         string `json:"manage_text"`
	StatusActive       string `json:"status_active"`
	StatusPending      string `json:"status_pending"`
	StatusUnsubscribed string `json:"status_unsubscribed"`
	Details            string `json:"details"`
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
	AskTitle           string `json:"ask_title"`
	AskText            string `json:"ask_text"`
	Back               string `json:"back"`
	LinkExpired        string `json:"link_expired"`
	LinkBroken         string `json:"link_broken"`
	LinkGone           string `json:"link_gone"`
	LinkNew            string `json:"link_new"`
	ListInactive       string `json:"list_inactive"`
	WrongTitle         string `json:"wrong_title"`
	MissingTitle       string `json:"missing_title"`
	ManyTitle          string `json:"many_title"`
	FailedTitle        string `json:"failed_title"`
}

var words = func() map[string]*pageWords {
	all := map[string]*pageWords{}
	for _, lang := range core.Languages {
		b, err := pageFiles.ReadFile("pages/words/" + lang + ".json")
		if err != nil {
			panic(err)
		}
		w, d := new(pageWords), json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(w); err != nil {
			panic(fmt.Sprintf("pages/words/%s.json: %v", lang, err))
		}
		all[lang] = w
	}
	return all
}()

var browserLanguages = func() language.Matcher {
	var tags []language.Tag
	for _, lang := range core.Languages {
		tags = append(tags, language.MustParse(lang))
	}
	return language.NewMatcher(tags)
}()

// language is the one of ours that the browser likes best (RFC 9110 section 12.5.4); empty where it asks for none of them.
func (c *Call) language() string {
	tags, _, err := language.ParseAcceptLanguage(c.Request.Header.Get("Accept-Language"))
	if err != nil {
		return ""
	}
	_, i, sure := browserLanguages.Match(tags...)
	if sure == language.No {
		return ""
	}
	return core.Languages[i]
}

// dress is how the pages of a request look: zero is our own brand, in English.
type dress struct {
	brand          brand
	lang           string
	list, tenant   string
	email          core.Email
	field, fault   string // of a form
	link, linkText string // on an error page: a way on, and what it is called
}

// wear dresses the pages of this request, those that tell errors too, as the list's tenant wants them.
func (c *Call) wear(list *store.ListWithTenant, email core.Email) {
	c.Tenant = list.TenantID
	c.dress = dress{brand: tenantBrand(c.api.ownBrand(), &list.Tenant), lang: list.PageLanguage(), list: list.Name, email: email}
	c.dress.tenant = c.dress.brand.Name
}

// words are those of the request's pages: in the language of the list or tenant that they are for, else in the one that the
// browser likes best.
func (c *Call) words() *pageWords {
	if c.dress.lang == "" {
		c.dress.lang = cmp.Or(c.language(), core.Languages[0])
	}
	return c.dress.words()
}

func (d *dress) words() *pageWords {
	if w := words[d.lang]; w != nil {
		return w
	}
	return words[core.Languages[0]]
}

// say puts names in the place of placeholders.
func (d *dress) say(text string) string {
	if !strings.Contains(text, "{{") {
		return text
	}
	return strings.NewReplacer("{{email}}", string(d.email), "{{list}}", d.list, "{{tenant}}", d.tenant, "{{field}}", d.field).Replace(text)
}
