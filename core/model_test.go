package core

import (
	"errors"
	"strings"
	"testing"
)

// TestModelAccess tests the access rule for each caller and visibility, with and without a share.
func TestModelAccess(t *testing.T) {
	owner, other, nobody := Caller{UserID: "o"}, Caller{UserID: "x"}, Caller{}
	client := Caller{ClientID: "c", ClientTenant: "t"}
	insider := Caller{UserID: "x", Roles: []Role{{Role: RoleOperator}}, ClientTenant: "t"}
	for _, tt := range []struct {
		who        Caller
		visibility Visibility
		shared     bool
		view       bool
		edit       error
	}{
		{owner, Private, false, true, nil},
		{owner, TenantVisible, false, true, nil},
		{owner, PublicVisible, false, true, nil},
		{other, Private, false, false, ErrNotFound},
		{other, Private, true, true, ErrNotOwner},
		{other, TenantVisible, false, false, ErrNotFound},
		{other, TenantVisible, true, true, ErrNotOwner},
		{other, PublicVisible, false, true, ErrNotOwner},
		{insider, TenantVisible, false, false, ErrNotFound},
		{insider, Private, false, false, ErrNotFound},
		{client, TenantVisible, false, false, ErrNotFound},
		{nobody, Private, false, false, ErrNotFound},
		{nobody, PublicVisible, false, true, ErrNotOwner},
	} {
		m := Model{OwnerID: "o", Visibility: tt.visibility}
		if got := m.CanView(tt.who, tt.shared); got != tt.view {
			t.Errorf("%+v %s shared %v: view %v", tt.who, tt.visibility, tt.shared, got)
		}
		if err := m.CanEdit(tt.who, tt.shared); !errors.Is(err, tt.edit) {
			t.Errorf("%+v %s shared %v: edit %v, want %v", tt.who, tt.visibility, tt.shared, err, tt.edit)
		}
	}
	if m := (&Model{}); m.OwnedBy(nobody) {
		t.Error("nobody owns a model without owner")
	}
}

func TestModelInput(t *testing.T) {
	for _, tt := range []struct {
		name        string
		in          ModelInput
		field       string
		visibility  Visibility
		contentType string
	}{
		{"defaults", ModelInput{Name: "m"}, "", Private, "application/octet-stream"},
		{
			"all",
			ModelInput{Name: "m", Description: "two\nlines", Visibility: "public", ContentType: "Video/MP4"},
			"",
			PublicVisible, "video/mp4",
		},
		{
			"parameters",
			ModelInput{Name: "m", ContentType: `text/plain; charset="utf-8"`},
			"", Private,
			"text/plain; charset=utf-8",
		},
		{
			"header injection",
			ModelInput{Name: "m", ContentType: "text/plain\r\nX: y"},
			"", Private,
			"application/octet-stream",
		},
		{"no type", ModelInput{Name: "m", ContentType: "plain"}, "", Private, "application/octet-stream"},
		{"name", ModelInput{}, "name", "", ""},
		{"long name", ModelInput{Name: strings.Repeat("x", 1001)}, "name", "", ""},
		{"description", ModelInput{Name: "m", Description: strings.Repeat("x", 4001)}, "description", "", ""},
		{"visibility", ModelInput{Name: "m", Visibility: "Public"}, "visibility", "", ""},
	} {
		m, err := NewModel("o", tt.in, 9)
		refused(t, tt.name, err, tt.field)
		if err == nil && (m.Visibility != tt.visibility || m.ContentType != tt.contentType || m.OwnerID != "o") {
			t.Errorf("%s: %+v", tt.name, m)
		}
	}
}

func TestShares(t *testing.T) {
	m := &Model{ID: "m", OwnerID: "o"}
	owner := Caller{UserID: "o", Email: "Owner@a.co", EmailVerified: true}
	user, self, mail, own, write := "u", "o", Email("Bob@a.co"), Email("owner@A.co"), "write"
	for _, tt := range []struct {
		name  string
		in    ShareInput
		fails bool
	}{
		{"by user", ShareInput{UserID: &user}, false},
		{"by address", ShareInput{Email: &mail}, false},
		{"both", ShareInput{UserID: &user, Email: &mail}, true},
		{"neither", ShareInput{}, true},
		{"with the owner", ShareInput{UserID: &self}, true},
		{"with the owner's address", ShareInput{Email: &own}, true},
		{"to write", ShareInput{UserID: &user, Permission: &write}, true},
	} {
		if _, err := NewShare(m, tt.in, owner, 1); (err != nil) != tt.fails {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	byUser, _ := NewShare(m, ShareInput{UserID: &user}, owner, 1)
	byMail, _ := NewShare(m, ShareInput{Email: &mail}, owner, 1)
	for _, tt := range []struct {
		who          Caller
		user, mailed bool
	}{
		{Caller{UserID: "u"}, true, false},
		{Caller{UserID: "b", Email: "bob@A.co", EmailVerified: true}, false, true},
		{Caller{UserID: "b", Email: "bob@a.co"}, false, false},
		{Caller{UserID: "x", Email: "x@a.co", EmailVerified: true}, false, false},
		{Caller{Email: "bob@a.co", EmailVerified: true}, false, false},
		{Caller{}, false, false},
	} {
		if byUser.HeldBy(tt.who) != tt.user || byMail.HeldBy(tt.who) != tt.mailed {
			t.Errorf("%+v: by user %v, by address %v", tt.who, byUser.HeldBy(tt.who), byMail.HeldBy(tt.who))
		}
	}
	refused(t, "another address", byUser.Change(ShareInput{Email: &mail}), "email")
	if err := byUser.Change(ShareInput{UserID: &user}); err != nil {
		t.Error(err)
	}
}
