package main

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/sourcetest"
)

const module = "newsletterd"

// mayImport is the dependency rule. It lists which of our packages each package may import, apart from its tests. No
// others are allowed. Helper packages for tests are below the package that they help with.
var mayImport = map[string][]string{
	"core":            {},
	"core/coretest":   {},
	"schema":          {},
	"netguard":        {},
	"store/db":        {"core", "schema"},
	"store/db/dbtest": {"store/db"},
	"store/tenants":   {"core", "store/db"},
	"store/files":     {"core", "store/db"},
	"store/identity":  {"core", "store/db", "store/tenants"},
	"store/devices":   {"core", "store/db", "store/files"},
	"store/members":   {"core", "store/db", "store/tenants"},
	"store/mailed":    {"core", "store/db"},
	"store/polls":     {"core", "store/db"},
	"store/campaigns": {"core", "store/db", "store/files", "store/mailed", "store/polls", "store/tenants"},
	"store/audience":  {"core", "store/campaigns", "store/db", "store/tenants"},
	"store/imports":   {"core", "store/campaigns", "store/db", "store/files", "store/members", "store/tenants"},
	"store/people": {
		"core", "schema", "store/audience", "store/campaigns", "store/db", "store/devices", "store/files",
		"store/identity", "store/imports", "store/mailed", "store/members", "store/polls", "store/tenants",
	},
	"store/bulk": {
		"core", "store/audience", "store/campaigns", "store/db", "store/imports", "store/members", "store/people",
		"store/tenants",
	},
	"store": {
		"store/audience", "store/bulk", "store/campaigns", "store/db", "store/devices", "store/files", "store/identity",
		"store/imports", "store/members", "store/people", "store/polls", "store/tenants",
	},
	"store/storetest": {
		"core", "store", "store/campaigns", "store/db", "store/identity", "store/imports", "store/members",
		"store/people", "store/storetest/faults", "store/tenants",
	},
	"store/storetest/ruletest": {"core", "store/db/dbtest", "store/members", "store/storetest"},
	"store/storetest/faults":   {},
	"store/storetest/slowdisk": {},
	"store/subscribercsv":      {"core", "store/imports"},
	"store/exports":            {"core", "store/subscribercsv"},
	"auth/authtest":            {},
	"auth":                     {"core", "store", "store/db", "store/identity"},
	"mail/internal/octets":     {},
	"mail/internal/words":      {"core"},
	"mail":                     {"core", "mail/internal/octets", "mail/internal/words"},
	"mail/dkim":                {"core", "mail/internal/octets"},
	"mail/markup":              {"core", "mail", "mail/internal/words"},
	"mail/htmlclean":           {},
	"mail/article":             {"core", "mail", "mail/htmlclean", "mail/markup"},
	"mail/picture":             {"core"},
	"mail/picture/picturetest": {},
	"mail/notice":              {"core", "mail/internal/octets", "mail/internal/words"},
	"mail/report":              {"core", "mail/smtp"},
	"mail/smtp":                {"mail/internal/octets"},
	"mail/dkim/dkimtest":       {"core"},
	"mail/mailtest":            {},
	"mail/smtp/smtptest":       {"mail/smtp"},
	"worker": {
		"core", "store", "store/people", "store/members", "store/imports", "store/campaigns", "store/db", "store/identity",
		"store/tenants", "store/subscribercsv", "mail", "mail/dkim", "mail/markup", "mail/notice", "mail/report",
		"mail/smtp", "auth",
	},
	"worker/pictures": {
		"core", "mail/article", "mail/picture", "netguard", "store", "store/campaigns", "store/db", "store/imports",
		"worker",
	},
	"handlers/web":         {"core", "store", "store/db"},
	"handlers/web/webtest": {},
	"handlers/page":        {"core", "auth", "handlers/web", "store/identity"},
	"handlers/drafts": {
		"core", "auth", "handlers/page", "handlers/web", "mail", "mail/article", "mail/markup",
		"store", "store/campaigns", "store/exports", "store/imports",
	},
	"handlers/campaigns": {
		"auth", "core", "handlers/drafts", "handlers/page", "handlers/tenants", "handlers/web", "mail", "mail/article",
		"mail/markup", "mail/picture", "mail/report", "store", "store/campaigns", "store/db", "store/files",
		"store/people", "store/subscribercsv", "store/tenants",
	},
	"handlers/devices": {"core", "handlers/web", "store", "store/devices", "store/files"},
	"handlers/members": {
		"auth", "core", "handlers/drafts", "handlers/page", "handlers/segments", "handlers/tenants", "handlers/web",
		"store", "store/db", "store/exports", "store/imports", "store/members", "store/people", "store/subscribercsv",
		"store/tenants",
	},
	"handlers/segments": {"core", "handlers/web", "store", "store/audience", "store/bulk"},
	"handlers/tenants": {
		"core", "auth", "handlers/drafts", "handlers/web", "mail", "mail/dkim", "mail/notice", "mail/report", "store",
		"store/db", "store/tenants",
	},
	"handlers/identity": {
		"core", "auth", "handlers/page", "handlers/web", "mail/notice", "store", "store/db", "store/identity",
	},
	"handlers/console/assets": {},
	"handlers/console":        {"core", "mail/markup", "handlers/page", "handlers/web", "handlers/console/assets"},
	"handlers/accesstest": {
		"core", "handlers/web", "store/bulk", "store/members", "store/campaigns", "store/identity",
		"store/tenants", "store/storetest",
	},
	"handlers": {
		"auth", "core", "handlers/campaigns", "handlers/console", "handlers/devices", "handlers/drafts",
		"handlers/identity", "handlers/members", "handlers/page", "handlers/segments", "handlers/tenants",
		"handlers/web", "mail", "mail/notice", "mail/picture", "mail/report", "store", "store/db", "store/members",
		"store/people", "store/tenants",
	},

	"store/replica":             {"core", "store/replica/objects"},
	"store/replica/objects":     {},
	"store/replica/objectstest": {},

	"worker/workertest": {
		"auth", "core", "core/coretest", "mail", "mail/dkim", "mail/smtp", "store", "store/people", "store/members",
		"store/imports", "store/campaigns", "store/db", "store/tenants", "store/storetest", "worker",
	},
	"cmd/newsletterd/daemontest": {
		"auth", "core", "handlers/web/webtest", "mail/mailtest", "mail/report", "store", "store/campaigns", "store/db",
		"store/storetest",
	},
	"cmd/newsletterd/browsertest": {},
	"cmd/newsletterd/sourcetest":  {},
	"cmd/newsletterd/figurestest": {
		"cmd/newsletterd/daemontest", "core", "mail/smtp", "store/campaigns", "store/storetest",
	},
	"cmd/newsletterd/oidctest": {
		"cmd/newsletterd/daemontest", "core", "handlers/web/webtest", "store/storetest",
	},

	"cmd/newsletterd/config": {
		"auth", "core", "mail", "mail/report", "store/replica/objects",
		"cmd/newsletterd/terminal",
	},
	"cmd/newsletterd/cli": {
		"core", "store", "store/db", "store/people", "cmd/newsletterd/config", "cmd/newsletterd/terminal",
	},
	"cmd/newsletterd/parts": {
		"auth", "core", "handlers/drafts", "handlers/identity", "handlers/tenants", "mail", "mail/smtp", "netguard",
		"store", "store/db", "cmd/newsletterd/config",
	},
	"cmd/newsletterd/admin": {
		"auth", "core", "handlers/drafts", "handlers/page", "mail", "mail/dkim", "mail/markup", "mail/picture",
		"mail/report", "store", "store/audience", "store/bulk", "store/campaigns", "store/db", "store/identity",
		"store/exports", "store/imports", "store/members", "store/people", "store/subscribercsv", "store/tenants",
		"worker", "cmd/newsletterd/cli", "cmd/newsletterd/config", "cmd/newsletterd/frontmatter",
		"cmd/newsletterd/parts", "cmd/newsletterd/terminal",
	},
	"cmd/newsletterd/demo":        {"auth", "cmd/newsletterd/config", "mail/mailtest"},
	"cmd/newsletterd/frontmatter": {"core"},
	"cmd/newsletterd/terminal":    {"core"},
}

// homes lists the libraries that only some packages, and those below them, may use.
var homes = map[string][]string{
	"modernc.org/sqlite":                      {"store/db", "store/replica", "store/storetest"},
	"modernc.org/libc":                        {"store/db", "store/storetest"},
	"github.com/jmoiron/sqlx":                 {"store/db"},
	"github.com/gofrs/flock":                  {"store/db"},
	"github.com/superfly/ltx":                 {"store/replica"},
	"github.com/julienschmidt/httprouter":     {"handlers/web"},
	"github.com/alexedwards/scs/v2":           {"handlers/web"},
	"github.com/alexedwards/scs/sqlite3store": {"store/db"},
	"pgregory.net/rapid":                      {"worker/workertest"},
	"rsc.io/qr":                               {"handlers/identity"},
	"github.com/yuin/goldmark":                {"mail/markup"},
	"github.com/microcosm-cc/bluemonday":      {"mail/htmlclean"},
	"golang.org/x/image":                      {"mail/picture"},
	"github.com/rs/cors":                      {"handlers/web"},
	"github.com/throttled/throttled/v2":       {"handlers/web"},
	"github.com/go-jose/go-jose/v4":           {"auth"},
	"github.com/go-webauthn/webauthn":         {"auth"},
	"golang.org/x/crypto":                     {"auth", "store", "cmd/newsletterd"},
	"golang.org/x/net": {
		"core", "handlers/console", "handlers/web", "mail",
		"cmd/newsletterd/daemontest",
	},
	"golang.org/x/oauth2":                 {"cmd/newsletterd"},
	"github.com/coreos/go-oidc/v3":        {"cmd/newsletterd/oidctest"},
	"github.com/emersion/go-smtp":         {"mail"},
	"github.com/emersion/go-message":      {"mail"},
	"github.com/emersion/go-msgauth":      {"mail"},
	"github.com/urfave/cli/v2":            {"cmd/newsletterd/cli"},
	"github.com/BurntSushi/toml":          {"cmd/newsletterd"},
	"go.yaml.in/yaml/v3":                  {"cmd/newsletterd/frontmatter"},
	"github.com/coreos/go-systemd/v22":    {"cmd/newsletterd"},
	"github.com/prometheus/client_golang": {"handlers", "worker", "cmd/newsletterd"},
	"github.com/chromedp/cdproto":         {"cmd/newsletterd/browsertest"},
	"github.com/chromedp/chromedp":        {"cmd/newsletterd/browsertest"},
}

// sharedHomes lists small libraries that several packages may use.
var sharedHomes = []string{
	"github.com/google/uuid", "golang.org/x/sync", "golang.org/x/sys", "golang.org/x/text",
	"golang.org/x/time", "golang.org/x/term", "github.com/k3a/html2text", "github.com/schollz/progressbar/v3",
}

func TestPackagesImportWhatTheyMay(t *testing.T) {
	gone := maps.Clone(mayImport)
	for _, p := range sourcetest.Packages(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		delete(gone, name)
		if name == "cmd/newsletterd" {
			continue // it wires all others
		}
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("%s stands in no rule: say in mayImport what it may import", name)
		}
		for _, imp := range p.Imports {
			if ours, ok := strings.CutPrefix(imp, module+"/"); ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s must not import %s", name, ours)
			}
		}
		for _, ours := range allowed {
			if !slices.Contains(p.Imports, module+"/"+ours) {
				t.Errorf("%s does not import %s: remove the permission from mayImport", name, ours)
			}
		}
	}
	for name := range gone {
		t.Errorf("mayImport has a row for %s, which is not a package", name)
	}
}

// TestRoomsStayApart checks the rule itself, so that it can't be widened until rooms depend on each other. Rooms of the
// API may use only tenants. The send side and the member side must not use each other, and the packages web, page and
// drafts must not use any room.
func TestRoomsStayApart(t *testing.T) {
	rooms := []string{"tenants", "identity", "devices", "members", "campaigns"}
	for name, allowed := range mayImport {
		floor, room, _ := strings.Cut(name, "/")
		if floor != "handlers" && floor != "store" {
			continue
		}
		for _, other := range allowed {
			to, is := strings.CutPrefix(other, floor+"/")
			if !is || !slices.Contains(rooms, to) || to == "tenants" && slices.Contains(rooms, room) {
				continue
			}
			sides := room == "members" && to == "campaigns" || room == "campaigns" && to == "members"
			below := floor == "handlers" &&
				(slices.Contains(rooms, room) || slices.Contains([]string{"web", "page", "drafts"}, room))
			if sides || below {
				t.Errorf("%s may import %s, but these rooms stay apart", name, other)
			}
		}
	}
}

func TestLibrariesStayAtHome(t *testing.T) {
	for _, p := range sourcetest.Packages(t, "./...") {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		for _, imp := range p.Imports {
			known := sourcetest.Within(imp, sharedHomes...) || !sourcetest.Library(imp)
			for lib, where := range homes {
				if !sourcetest.Within(imp, lib) {
					continue
				}
				if known = true; !sourcetest.Within(name, where...) {
					t.Errorf("%s must not import %s, whose home is %s", name, imp, strings.Join(where, ", "))
				}
			}
			if !known {
				t.Errorf("%s imports %s, which stands in no rule: say in homes where it may be used", name, imp)
			}
		}
	}
}

// TestCoreStaysPure checks that core imports nothing for input and output, contexts, SQL or HTTP, so that its rules can
// be tested in isolation.
func TestCoreStaysPure(t *testing.T) {
	for _, p := range sourcetest.Packages(t, "./core") {
		for _, imp := range p.Imports {
			if slices.Contains([]string{"context", "database/sql", "net/http", "net", "os", "io", "log/slog"}, imp) {
				t.Errorf("core must not import %s", imp)
			}
			if sourcetest.Library(imp) && imp != "github.com/google/uuid" && imp != "golang.org/x/net/idna" &&
				imp != "golang.org/x/net/publicsuffix" {
				t.Errorf("core must not import %s", imp)
			}
		}
	}
}

// TestNothingNeedsC checks that nothing in the program needs a C compiler, because it must build without one.
func TestNothingNeedsC(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./cmd/newsletterd")
	cmd.Dir, cmd.Env = sourcetest.Root, append(cmd.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if dep == "runtime/cgo" || strings.HasPrefix(dep, "github.com/mattn/go-sqlite3") {
			t.Errorf("the program depends on %s", dep)
		}
	}
}
