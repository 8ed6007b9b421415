package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"github.com/nats-io/nats-server/v2/server"
)

// natsStore is a NATS server of one, as an operator would run it: nats-store
// FOLDER PORT. It ends on an interrupt.
func natsStore() {
	port, err := strconv.Atoi(os.Args[2])
	if err == nil {
		err = serveNATS(os.Args[1], port)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func serveNATS(dir string, port int) error {
	s, err := server.NewServer(&server.Options{
		ServerName: "store", Host: "127.0.0.1", Port: port, JetStream: true, StoreDir: dir, SyncAlways: true,
		NoLog: true, NoSigs: true,
	})
	if err != nil {
		return err
	}
	s.Start()
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	<-interrupted
	s.Shutdown()
	s.WaitForShutdown()
	return nil
}
