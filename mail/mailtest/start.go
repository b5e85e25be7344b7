package mailtest

// TB is the subset of testing.TB that this package needs. The demo also uses this package, and must not get the flags
// of package testing.
type TB interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
}

// Start returns a server that follows a script until the test ends. If it is started outside a testing/synctest bubble,
// waiting server goroutines don't stop the time in the bubble.
func Start(t TB, script Script) *Server {
	t.Helper()
	s, err := NewServer(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// At returns a function for Script.On that applies a to the n-th event with a verb, or to each if n is 0.
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
