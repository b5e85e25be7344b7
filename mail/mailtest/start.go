package mailtest

// TB is what of testing.TB is needed here. The demo uses this package too, and is not to have the flags of tests.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Start returns a server of a script that runs until the test ends. Started outside a bubble of testing/synctest, it
// doesn't hold up the bubble's time by its waits.
func Start(t TB, script Script) *Server {
	t.Helper()
	s, err := NewServer(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// At returns what answers the n-th event of a verb, or each (0), for Script.On.
func At(verb string, n int, a Action) func(Event) Action {
	return func(e Event) Action {
		if e.Verb == verb && (e.N == n || n == 0) {
			return a
		}
		return Action{}
	}
}

// StartSink returns a sink that runs until the test ends.
func StartSink(t TB, opts SinkOptions) *Sink {
	t.Helper()
	s, err := NewSink("127.0.0.1:0", opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}
