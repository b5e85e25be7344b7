package core

import "testing"

func TestSplitName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"":                       {"", ""},
		"Ann":                    {"Ann", ""},
		"Ann Gray":               {"Ann", "Gray"},
		" Anna  Maria Klein ":    {"Anna Maria", "Klein"},
		"Gray, Ann":              {"Ann", "Gray"},
		"Gray Smith, Ann":        {"Ann", "Gray Smith"},
		"Dr. Inge von der Au":    {"Dr. Inge", "von der Au"},
		"Au, Dr. Inge von der":   {"Dr. Inge", "von der Au"},
		"Prof. Dr. Klein":        {"Prof. Dr.", "Klein"},
		"Ludwig van Beethoven":   {"Ludwig", "van Beethoven"},
		"Maria Da Silva":         {"Maria", "Da Silva"},
		"Leonardo DiCaprio":      {"Leonardo", "DiCaprio"},
		"Ian Mc Donald":          {"Ian", "Mc Donald"},
		"Al Gore":                {"Al", "Gore"},
		"Ursula von":             {"Ursula", "von"},
		"Yasser bin Al Faisal":   {"Yasser", "bin Al Faisal"},
		"Gray,":                  {"", "Gray"},
		"Karl zu Guttenberg-Alt": {"Karl", "zu Guttenberg-Alt"},
	} {
		if first, last := SplitName(name); first != want[0] || last != want[1] {
			t.Errorf("%q: %q, %q, want %q", name, first, last, want)
		}
	}
}
