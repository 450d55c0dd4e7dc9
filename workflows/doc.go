// Package workflows decides what happens next in an investigation, and does no
// I/O: Investigation walks the plan's stages, Stage runs agents in parallel,
// and an agent workflow loops over model calls and tool calls. What they steer
// by is small; the conversation itself is in the store.
package workflows
