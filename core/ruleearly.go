package core

// possible is the range of a rule's possible results for a subscriber whose data is not completely loaded.
type possible struct{ least, most truth }

// Early tries to match a subscriber using only the email address, preferences and JoinedAt of the profile. If these
// don't suffice, decided is false.
func (m *Matcher) Early(p *Profile) (match, decided bool) {
	s := m.see(p)
	defer m.forget(s)
	result := m.early(s)
	return result.least == yes, result.least == yes || result.most != yes
}

// HasEarly reports whether Early can decide for some subscribers but not for all.
func (m *Matcher) HasEarly() bool { return m.cheap && m.costly }

// OnlyEarly reports whether Early can decide for all subscribers. If so, Match needs no more data than Early.
func (m *Matcher) OnlyEarly() bool { return !m.costly }

// compileEarly compiles a rule to a function for Early.
func (m *Matcher) compileEarly(r *Rule) func(*seen) possible {
	switch {
	case r.Not != nil:
		not := m.compileEarly(r.Not)
		return func(s *seen) possible {
			of := not(s)
			return possible{yes - of.most, yes - of.least}
		}
	case r.Except != nil:
		except := m.compileEarly(r.Except)
		return func(s *seen) possible {
			of := except(s)
			return possible{is(of.most != yes), is(of.least != yes)}
		}
	case r.All != nil:
		return m.earlyOf(r.All, possible{yes, yes}, func(a, b truth) truth { return min(a, b) }, no)
	case r.Any != nil:
		return m.earlyOf(r.Any, possible{no, no}, func(a, b truth) truth { return max(a, b) }, yes)
	case r.Field != "" || r.Joined != nil || r.Domain != nil:
		m.cheap = true
		holds := m.plain(r)
		return func(s *seen) possible {
			t := is(holds(s))
			return possible{t, t}
		}
	}
	m.costly = true
	return func(*seen) possible { return possible{no, yes} }
}

// earlyOf returns a function that combines the results of rules, and stops as soon as the combined result can only be
// end.
func (m *Matcher) earlyOf(rules []Rule, start possible, combine func(a, b truth) truth, end truth) func(*seen) possible {
	var all []func(*seen) possible
	for i := range rules {
		all = append(all, m.compileEarly(&rules[i]))
	}
	return func(s *seen) possible {
		result := start
		for _, one := range all {
			of := one(s)
			result = possible{combine(result.least, of.least), combine(result.most, of.most)}
			if result == (possible{end, end}) {
				break
			}
		}
		return result
	}
}

// Required returns the conditions that every subscriber who matches the rule meets: those outside of any, not and
// except.
func (r *Rule) Required() (leaves []*Rule) {
	switch {
	case r.Not != nil, r.Except != nil, r.Any != nil:
		return nil
	case r.All == nil:
		return []*Rule{r}
	}
	for i := range r.All {
		leaves = append(leaves, r.All[i].Required()...)
	}
	return leaves
}
