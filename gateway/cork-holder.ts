import { once } from 'node:events'
import { connect } from 'node:net'
import { listen } from './listen.ts'
import type { HttpResponse, UwsModule } from './uws.ts'

/** Lends its cork, see below. */
export interface CorkHolder {
  run(work: () => void): void
  close(): void
}

/**
 * An exchange with ourselves that never ends; while `run` works, the library's one cork is on it and on no other socket.
 *
 * Up to 20.78, `res.cork` with a `res.upgrade` in it goes on to read the new WebSocket's memory as if it were still an HTTP
 * response, and now and then (1 in 5,000 of a cold gateway) closes it right after its 101: uNetworking/uWebSockets pull
 * request 1929. An upgrade without any cork prints a warning each time. Inside another socket's cork it does neither,
 * at the price of some twenty small writes an upgrade.
 */
export async function openCorkHolder(uws: UwsModule): Promise<CorkHolder> {
  const app = uws.App()
  const arrived = new Promise<HttpResponse>((resolve) => {
    app.get('/', (res) => {
      res.onAborted(() => {
        // Required of a response that outlives its handler; this one ends with the process, or by `close`.
      })
      resolve(res)
    })
  })
  const token = await listen(app, 0, '127.0.0.1')
  const socket = connect(uws.us_socket_local_port(token), '127.0.0.1')
  await once(socket, 'connect')
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const response = await arrived
  uws.us_listen_socket_close(token)
  return {
    run: (work) => {
      response.cork(work)
    },
    close: () => {
      socket.destroy()
    }
  }
}
