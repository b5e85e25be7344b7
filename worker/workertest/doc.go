// Package workertest has what tests of workers share, for real time and for the bubbles of testing/synctest:
//
//	harness.go     Harness: a store with a list, a relay, and the loops that a test runs
//	receiver.go    Receiver: what events and full syncs are posted to, with answers that a test decides
//	services.go    Services: the member and the send service as what they post to each other finds them
package workertest
