package store_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

// Each operation is one transaction, which is on disk when the operation returns.
func Example() {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	ctx, now := context.Background(), core.Instant(1_790_000_000_000)
	s, err := store.Open(ctx, db.Options{Path: filepath.Join(dir, "newsletterd.db"), Migrate: true})
	if err != nil {
		panic(err)
	}
	defer s.Close()

	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, now)
	if err != nil {
		panic(err)
	}
	if err := s.AddTenant(ctx, tenant, "the command line"); err != nil {
		panic(err)
	}
	list, err := core.NewList(core.ListInput{TenantID: &tenant.ID, Name: new("Weekly")}, now)
	if err != nil {
		panic(err)
	}
	if err := s.AddList(ctx, list, "the command line"); err != nil {
		panic(err)
	}
	sub, row, err := s.Subscribe(ctx, members.SubscribeRequest{ListID: list.ID, Email: "ann@example.org"}, now)
	if err != nil {
		panic(err)
	}
	fmt.Println(sub.Status)
	token, err := s.ConfirmToken(ctx, row, core.ProofMailed) // token in the confirmation email
	if err != nil {
		panic(err)
	}
	sub, err = s.Confirm(ctx, token, core.Origin{}, now)
	fmt.Println(sub.Status, err)
	_, err = s.Confirm(ctx, "another", core.Origin{}, now)
	fmt.Println(core.KindOf(err) == core.Invalid)
	// Output:
	// pending
	// active <nil>
	// true
}
