// Package workertest has what tests of workers share, for real time and for the bubbles of testing/synctest: a store
// with a list, a relay, and the loops that a test runs.
package workertest
