// Package workertest has what tests of workers share, for real time and for the bubbles of testing/synctest:
//
//	harness.go           Harness: a store with a list, a relay, and the loops that a test runs
//	receiver.go          Receiver: what events and full syncs are posted to, with answers that a test decides
//	services.go          Services: the member and the send service as what they post to each other finds them
//	world.go             World: both services, and a model of what each person's subscription must come to
//	world_link.go        the link between them, which loses posts and answers
//	world_actions.go     all that can happen to them, drawn by rapid
//	world_daemon.go      loops that run by themselves, and a daemon that is killed
//	world_mailable.go    whom they would mail
package workertest
