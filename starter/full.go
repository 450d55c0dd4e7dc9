//go:build !remote

package main

import (
	"github.com/inquest-dev/inquest/internal/face/cli/base"
	"github.com/inquest-dev/inquest/internal/face/cli/local"
)

func full() *base.Full { return local.Full() }
