// Package workertest provides helpers for testing workers, in real time and in testing/synctest bubbles:
//
//	harness.go           Harness: a store with a list, a relay, and the loops that a test runs
//	receiver.go          Receiver: a receiver of events and full syncs whose responses a test sets
//	services.go          Services: the HTTP operations that the member service and the send service call
//	world.go             World: both services, and a model of the expected state of each subscription
//	world_link.go        the link between them, which may lose requests and responses
//	world_actions.go     all possible actions, drawn by rapid
//	world_daemon.go      loops that run continuously, and a daemon that is killed
//	world_mailable.go    the subscribers who would get an email
package workertest
