// Package ruletest evaluates rules about subscribers a second time, in SQL and from the raw tables, so that tests can
// compare the result with the store's. It shares no code with the evaluation in core and store.
//
//	crowd.go     lists of people who have everything that a rule can ask about
//	history.go   the campaigns that they received
//	random.go    random rules about them
//	oracle.go    who matches a rule
//	compile.go   a rule as an SQL expression
//	functions.go SQL functions for strings, numbers and days
package ruletest
