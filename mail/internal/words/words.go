// Package words holds what notices and the footers of newsletters say, in each language of core.Languages: one file a
// language, in texts. {{email}}, {{list.name}}, {{tenant.name}}, {{valid}}, {{by}} of reviews and
// invitations, {{role}} of these and, of reviews, {{mailing}}, {{note}} and {{wanted}} are placeholders; so are {{by}},
// {{client}}, {{scopes}} and {{when}} of new clients.
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

// List is what is said in one language.
type List struct {
	Hello   string `json:"hello"`
	Service string `json:"service"` // the name of a service that has none
	List    string `json:"list"`    // the name of a list that has none
	Footer  string `json:"footer"`
	Reason  string `json:"reason"` // why a newsletter is sent, in its footer
	Leave   string `json:"leave"`  // the label of the unsubscribe link in that footer
	// that readers who have agreed to it are named in openings and clicks, and the label of the link to withdraw that
	Named    string `json:"named"`
	Withdraw string `json:"withdraw"`

	Roles   map[string]string `json:"roles"`   // what people of a team are and may do, by core.Roles
	Wanted  string            `json:"wanted"`  // when a review is wanted, {{when}}
	Command string            `json:"command"` // who has done what a command on the server did
	// NoServer is where emails go without a mail server.
	NoServer string            `json:"no_server"`
	Minutes  string            `json:"minutes"`
	Hour     string            `json:"hour"`
	Hours    string            `json:"hours"`
	Days     string            `json:"days"`
	Notices  map[string]Notice `json:"notices"` // by notice.Kind
}

// Notice is what one notice says.
type Notice struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`   // before the link; a tenant may have its own
	Open    string `json:"open"`   // introduces the link in the text part
	Button  string `json:"button"` // the link's label
	After   string `json:"after"`  // after the link
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

// Of returns the words of a language, or those of the first if there are none of that name.
func Of(language string) *List { return cmp.Or(lists[language], lists[core.Languages[0]]) }

// Language returns language, or the first if there are no words of it.
func Language(language string) string {
	if lists[language] == nil {
		return core.Languages[0]
	}
	return language
}

// Lines returns the lines of a text that are not empty, as of a postal address.
func Lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
}
