package auth_test

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// A user registers and signs in, and the token identifies the user. A logout ends the token immediately.
func ExampleProvider() {
	ctx, now := context.Background(), core.Instant(1_800_000_000_000)
	dir, err := os.MkdirTemp("", "auth")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	s, err := store.Open(ctx, db.Options{Path: filepath.Join(dir, "newsletterd.db"), Migrate: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer s.Close()
	p, err := auth.New(ctx, s, auth.Config{Issuer: "https://news.example.org/api"}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	user, err := p.Register(ctx, "ann@example.org", "correct horse battery", core.MailStyle{}, netip.Addr{}, now)
	if err != nil {
		fmt.Println(err)
		return
	}
	tokens, err := p.PasswordGrant(ctx, auth.GrantRequest{
		Username: "ann@example.org", Password: "correct horse battery", Scope: "openid email",
	}, now)
	fmt.Println(tokens.TokenType, tokens.Scope, err)
	caller, err := p.Bearer(ctx, tokens.AccessToken, now)
	fmt.Println(caller.UserID == user.ID, caller.Email, err)

	fmt.Println(s.LogoutEverywhere(ctx, user.ID, now))
	_, err = p.Bearer(ctx, tokens.AccessToken, now)
	fmt.Println(err != nil)
	// Output:
	// Bearer openid email <nil>
	// true ann@example.org <nil>
	// <nil>
	// true
}
