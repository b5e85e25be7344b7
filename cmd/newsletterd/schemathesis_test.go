package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/handlers/accesstest"
	"newsletterd/handlers/drafts"
	"newsletterd/store/storetest"
)

// `make schemathesis` sets these variables: the program, and additional arguments.
const (
	schemathesisEnv     = "SCHEMATHESIS"
	schemathesisArgsEnv = "SCHEMATHESIS_ARGS"
)

// trialWorld is the input of testdata/schemathesis/hooks.py.
type trialWorld struct {
	Origin        string        `json:"origin"`
	User          string        `json:"user"` // the caller; empty: anonymous
	Password      string        `json:"password"`
	WebhookClient string        `json:"webhook_client"`
	Tenants       []trialTenant `json:"tenants"`
}

type trialTenant struct {
	Paths  map[string][]string `json:"paths"`  // IDs of records by the path before them
	Fields map[string][]string `json:"fields"` // IDs by the field that contains them
}

// TestSchemathesis sends requests that schemathesis generates from the OpenAPI documents. Every response must be
// documented.
func TestSchemathesis(t *testing.T) {
	if os.Getenv(schemathesisEnv) == "" {
		t.Skip("SKIPPED: `make schemathesis` runs it")
	}
	for _, name := range []string{"member", "send", "devices", "pages"} {
		t.Run(name, func(t *testing.T) {
			d := newSchemaTrial(t, name)
			d.run("others", "--exclude-method", "DELETE")
			if name != "pages" { // pages has none
				d.run("deletes", "--include-method", "DELETE")
			}
			d.Stop()
		})
	}
}

// schemaTrial is a daemon with records of each noun, a document, and the folder for schemathesis.
type schemaTrial struct {
	*daemontest.Process
	dir, document string
}

func newSchemaTrial(t *testing.T, name string) *schemaTrial {
	t.Helper()
	d := &schemaTrial{
		Process: daemontest.New(t, "NEWSLETTERD_LIMITS_SUBSCRIBE_PER_ADDRESS=0"), dir: t.TempDir(),
	}
	d.Must(os.CopyFS(d.dir, os.DirFS("../../testdata/schemathesis")))
	h, err := handlers.New(handlers.Options{PublicURL: d.URL})
	d.Must(err)
	d.document = filepath.Join(d.dir, name+".json")
	d.Must(os.WriteFile(d.document, h.Document(name), 0o600))
	d.Prepare(func(s *storetest.Seeder) {
		b, err := json.Marshal(d.world(s, name))
		d.Must(err)
		d.Must(os.WriteFile(filepath.Join(d.dir, "records.json"), b, 0o600))
	})
	d.Serve()
	return d
}

// world creates the records, and the caller: an operator, or the owner for devices.
func (d *schemaTrial) world(s *storetest.Seeder, document string) trialWorld {
	provider, err := auth.New(d.Context(), s.Store, auth.Config{Issuer: d.URL + "/api"}, s.Time())
	d.Must(err)
	hash, err := provider.NewPassword(d.Context(), "password", daemontest.Password)
	d.Must(err)
	w := accesstest.NewWorld(s, hash)
	out := trialWorld{Origin: d.URL, Password: daemontest.Password}
	switch document {
	case "devices":
		out.User = "owner@" + w.Tenants[0].Marker + ".example"
		w.Tenants = w.Tenants[:1]
	case "member", "send":
		out.User = "op@example.org"
		s.NewUser("op@example.org", hash, func(u *core.User) { u.Roles = []core.Role{{Role: core.RoleOperator}} })
	}
	for _, t := range w.Tenants {
		out.Tenants = append(out.Tenants, d.tenant(s, t))
	}
	if document == "send" { // a list that another service feeds can't be copied to it
		out.WebhookClient = s.NewWebhookClient("").ID
	}
	return out
}

// tenant creates further records of each noun in a tenant.
func (d *schemaTrial) tenant(s *storetest.Seeder, t *accesstest.Tenant) trialTenant {
	out := trialTenant{Paths: map[string][]string{}, Fields: map[string][]string{
		"tenant_id": {t.ID}, "list_id": {t.List}, "email": {string(t.Email)}, "user_id": {t.Owner},
	}}
	for path, record := range t.Records {
		ids := []string{record.ID}
		for range 3 {
			// An event belongs to a subscriber, and a list that others feed is not copied again.
			if path != "/api/admin/outbox" && path != "/api/admin/syncs" {
				ids = append(ids, record.Make(s))
			}
		}
		out.Paths[path] = ids
	}
	provider := core.Provider{Name: t.Marker, Kind: "generic", TenantID: t.ID}
	secret := "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, 32))
	d.Must(s.AddProvider(d.Context(), provider, secret, "test", s.Time()))
	out.Paths["/webhooks"] = []string{provider.Name}
	_, err := s.UpdateList(d.Context(), t.List, "test", func(l *core.List) error {
		return l.Change(core.ListInput{Archive: new(true), Slug: &t.Marker}, s.Time())
	})
	d.Must(err)
	out.Paths["/a"], out.Paths["/l"] = []string{t.Marker, t.List}, []string{t.List}
	l, err := s.List(d.Context(), t.List)
	d.Must(err)
	c := s.NewCampaign(l)
	sealer, err := auth.NewSealer(make([]byte, 32))
	d.Must(err)
	tries := drafts.Drafts{Store: s.Store, Sealer: sealer, Origin: d.URL}
	draft, _, err := tries.Complete(d.Context(), &c, 0, s.Time())
	d.Must(err)
	out.Paths["/a/:id"] = []string{c.ID}
	job := s.Finish(s.SendDraft(&draft))
	out.Paths["/api/campaigns"] = append(out.Paths["/api/campaigns"], c.ID)
	out.Paths["/api/send-jobs"] = append(out.Paths["/api/send-jobs"], job.ID)
	return out
}

// trialResult is the output of testdata/schemathesis/hooks.py.
type trialResult struct {
	Operations   int            `json:"operations"`
	Requests     int            `json:"requests"`
	ServerErrors int            `json:"server_errors"`
	Told         map[string]int `json:"told"` // refusals listed in x-refusals, by status and error
	Findings     []struct {
		Kind, Operation, Error, Field, Message, Path, Query, Body string
		Status                                                    int
	} `json:"findings"`
}

// run sends requests for some of the operations. It fails the test if a response is undocumented.
func (d *schemaTrial) run(part string, filter ...string) {
	d.Helper()
	base, file := d.URL, filepath.Join(d.dir, part+".json")
	if filepath.Base(d.document) == "member.json" {
		base += "/api"
	}
	args := slices.Concat([]string{
		"--config-file", filepath.Join(d.dir, "schemathesis.toml"), "run", d.document, "--url", base, "--no-color",
	}, filter, strings.Fields(os.Getenv(schemathesisArgsEnv)))
	cmd := exec.CommandContext(d.Context(), os.Getenv(schemathesisEnv), args...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "RECORDS="+filepath.Join(d.dir, "records.json"), "RESULT="+file, "PYTHONPATH="+d.dir)
	out, failed := cmd.CombinedOutput()
	var result trialResult
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &result)
	}
	if err != nil {
		d.Fatalf("%s: %v, %v\n%s", cmd, failed, err, out)
	}
	seen := map[string]bool{}
	for _, f := range result.Findings {
		key := fmt.Sprint(f.Operation, f.Status, f.Error, f.Field, f.Kind)
		if seen[key] {
			continue
		}
		seen[key] = true
		d.Errorf("%s is answered %d %s %q: %s\n%s\n%s %s %s", f.Operation, f.Status, f.Error, f.Field, f.Kind,
			f.Message,
			f.Path, f.Query, f.Body)
	}
	switch {
	case failed != nil && len(result.Findings) == 0, bytes.Contains(out, []byte("Hook Error")):
		d.Errorf("%s: %v\n%s", cmd, failed, out)
	case result.ServerErrors > 0:
		d.Errorf("%d answers of 5xx", result.ServerErrors)
	}
	d.Logf("%s: %d operations, %d requests, %d answers of 5xx, %d that the document does not tell; refused as it tells: %v",
		part, result.Operations, result.Requests, result.ServerErrors, len(result.Findings), result.Told)
}
