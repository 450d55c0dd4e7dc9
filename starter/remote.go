//go:build remote

package main

import "github.com/inquest-dev/inquest/internal/face/cli/base"

func full() *base.Full { return nil }
