import { loadUws } from '../gateway/uws.ts'
import { announceReady } from './bare-settings.ts'

/** The ceiling: uWebSockets.js answers every frame with the same few bytes and looks at nothing. */

const ANSWER = Buffer.from('{"ack":1}')

const { module: uws } = loadUws()
uws
  .App()
  .ws('/*', {
    maxPayloadLength: 262_144,
    maxBackpressure: 1_048_576,
    idleTimeout: 120,
    message: (socket) => {
      socket.send(ANSWER)
    }
  })
  .listen('127.0.0.1', 0, (token) => {
    if (!token) throw new Error('no port is free')
    announceReady(uws.us_socket_local_port(token))
  })
