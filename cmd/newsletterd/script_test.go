package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/mail/mailtest"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/replica"
	"newsletterd/store/storetest/slowdisk"
)

// TestMain makes the test binary act as the program, too, so that scripts can run newsletterd as a separate process.
func TestMain(m *testing.M) {
	testscript.Main(prepared{m}, map[string]func(){
		"newsletterd": func() { picturesAllow = strings.Fields(os.Getenv(picturesEnv)); main() },
		"slowdisk":    func() { slowdisk.FromEnv(); main() },
		"sink":        daemontest.RunSink,
	})
}

// picturesEnv is the variable with picturesAllow for a process of a test.
const picturesEnv = "TEST_PICTURES_ALLOW"

// prepared sets the locks of the process before any test opens a file. A plain sql.Open in one test would make that too
// late for the next.
type prepared struct{ *testing.M }

func (m prepared) Run() int {
	if err := db.PrepareProcess(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.M.Run()
}

// TestScripts runs the command line like an operator: testdata/script/*.txt, each in its own folder.
//
//	exits N newsletterd …   run it; the exit code must be N. stdout and stderr can be matched afterwards
//	field NAME KEY          put a field of the JSON object on stdout into the variable NAME
//	relay NAME              start a mail server and put its port into the variable NAME
//	keep FILE FOLDER        keep the database FILE, created if missing, in the replica FOLDER, and stop like a daemon
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("NEWSLETTERD_MAIL_DNS_SERVER", "127.0.0.1:9") // nothing listens there
			env.Setenv("GORACE", os.Getenv("GORACE"))
			pictures, err := filepath.Abs("../../mail/picture/testdata")
			env.Setenv("PICTURES", pictures)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					ts.Fatalf("usage: exits N command …")
				}
				want, err := strconv.Atoi(args[0])
				ts.Check(err)
				code := 0
				if err := ts.Exec(args[1], args[2:]...); err != nil {
					exit, ok := errors.AsType[*exec.ExitError](err)
					if !ok {
						ts.Fatalf("%v", err)
					}
					code = exit.ExitCode()
				}
				if code != want {
					ts.Fatalf("exit code %d, want %d", code, want)
				}
			},
			"field": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: field NAME KEY")
				}
				var object map[string]any
				ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &object))
				text, ok := object[args[1]].(string)
				if !ok || strings.TrimSpace(text) == "" {
					ts.Fatalf("there is no text %q in %v", args[1], object)
				}
				ts.Setenv(args[0], text)
			},
			// The relay is a mail server on loopback. It refuses recipients whose address starts with "full"
			// temporarily, and those with "gone" permanently.
			"relay": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: relay NAME")
				}
				server, err := mailtest.NewServer(mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
					switch {
					case e.Verb == "RCPT" && strings.HasPrefix(e.Arg, "full"):
						return mailtest.Action{Reply: "452 4.2.2 mailbox full"}
					case e.Verb == "RCPT" && strings.HasPrefix(e.Arg, "gone"):
						return mailtest.Action{Reply: "550 5.1.1 no such user"}
					}
					return mailtest.Action{}
				}})
				ts.Check(err)
				ts.Defer(func() { _ = server.Close() })
				_, port, err := net.SplitHostPort(server.Addr())
				ts.Check(err)
				ts.Setenv(args[0], port)
			},
			"keep": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: keep FILE FOLDER")
				}
				path := ts.MkAbs(args[0])
				r, err := replica.New(replica.Options{
					URL: "file://" + ts.MkAbs(args[1]), Path: path, Made: madeAt(path),
				})
				ts.Check(err)
				s, err := store.Open(context.Background(), db.Options{Path: path, Migrate: true, Replica: r})
				ts.Check(err)
				for range 24 { // so that the log has many files
					_, err := s.StartDrill(context.Background())
					ts.Check(err)
					ts.Check(s.Acknowledged(context.Background()))
				}
				ts.Check(s.Close())
			},
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}
