// Package words holds the wording of notices and newsletter footers in each language of core.Languages. The folder
// texts has one file per language. Placeholders are {{email}}, {{list.name}}, {{tenant.name}} and {{valid}}. Reviews
// and invitations also have {{by}} and {{role}}. Reviews have {{mailing}}, {{note}} and {{wanted}}. Notices about new
// clients have {{by}}, {{client}}, {{scopes}} and {{when}}.
package words

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"newsletterd/core"
)

// List holds all texts in one language.
type List struct {
	Hello  string `json:"hello"`
	List   string `json:"list"`    // name of a list that has none
	OrOpen string `json:"or_open"` // introduction to the URL below a button
	Footer string `json:"footer"`
	Reason string `json:"reason"` // reason for receiving a newsletter, in its footer
	Leave  string `json:"leave"`  // label of the unsubscribe link in that footer
	// sentence for subscribers who agreed to tracking by name, and label of the link for withdrawing consent
	Named    string `json:"named"`
	Withdraw string `json:"withdraw"`

	Roles   map[string]string `json:"roles"`   // role names and permissions, by core.Roles
	Wanted  string            `json:"wanted"`  // deadline of a review, with {{when}}
	Said    string            `json:"said"`    // quote of a person's note, with {{by}} and {{note}}
	Months  string            `json:"months"`  // names of the months, separated by spaces
	Moment  string            `json:"moment"`  // format of a date and time
	Command string            `json:"command"` // name shown for changes made by a server command
	// shown instead of the mail server's address if none is set
	NoServer   string            `json:"no_server"`
	ServerTest core.MailText     `json:"server_test"` // email that tests a mail server
	Minutes    string            `json:"minutes"`
	Hour       string            `json:"hour"`
	Hours      string            `json:"hours"`
	Days       string            `json:"days"`
	Notices    map[string]Notice `json:"notices"` // by notice.Kind
}

// Notice holds the texts of one kind of notice.
type Notice struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`   // text before the link; a tenant may have its own
	Open    string `json:"open"`   // introduction to the link in the text part
	Button  string `json:"button"` // label of the link
	// OpenSaysMore means that the HTML part needs Open too, because Open contains more than List.OrOpen.
	OpenSaysMore bool   `json:"open_says_more"`
	After        string `json:"after"` // text after the link
}

//go:embed texts
var texts embed.FS

var lists = func() map[string]*List {
	all := map[string]*List{}
	for _, lang := range core.Languages {
		name := "texts/" + lang + ".json"
		b, err := texts.ReadFile(name)
		if err != nil {
			panic(err)
		}
		l, d := new(List), json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(l); err != nil {
			panic(fmt.Sprintf("%s: %v", name, err))
		}
		all[lang] = l
	}
	return all
}()

// Of returns the List for a language, or that for the first language if there is none.
func Of(language string) *List { return cmp.Or(lists[language], lists[core.Languages[0]]) }

// Language returns language if it has a List, otherwise the first language.
func Language(language string) string {
	if lists[language] == nil {
		return core.Languages[0]
	}
	return language
}

// Lines returns the non-empty lines of a string, such as a postal address.
func Lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}
