package core

import "testing"

func BenchmarkMatch(b *testing.B) {
	p := &Profile{
		Email: "anna@example.com", JoinedAt: t0, Received: []bool{false},
		Preferences: `{"name":"Anna Schmidt","plan":"Pro","city":"Berlin","birthday":"1990-11-29","orders":12,"lang":"de"}`,
	}
	for name, text := range map[string]string{
		"1 condition": `{"field":"plan","is":["pro","team"]}`,
		"5 conditions": `{"all":[{"field":"plan","is":["pro","team"]},{"field":"city","starts_with":"ber"},` +
			`{"field":"orders","more":5},{"joined":{"before_days":30}},{"not":{"received":"c"}}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			r, err := ParseRule("rule", []byte(text))
			if err != nil {
				b.Fatal(err)
			}
			m := r.Compile(t0+100*86_400_000, nil)
			b.ReportAllocs()
			for b.Loop() {
				if !m.Match(p) {
					b.Fatal("no match")
				}
			}
		})
	}
}
