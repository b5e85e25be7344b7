// Package devices serves the devices of users, the agents that run them, and models: files that users keep and share.
// What belongs to another user is missing.
//
//	devices.go           Room: what the endpoints are made of; devices
//	agents.go            agents
//	models.go            models and whom they are shared with
//	upload.go uploadkeys.go download.go   their files; uploads that go on after a break
package devices
