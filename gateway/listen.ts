import { StartupError } from '../shared/env.ts'
import type { TemplatedApp, us_listen_socket } from './uws.ts'

/** Listens on a port of every address, or only of `host`; 0 takes any free port. @throws StartupError when it is taken. */
export function listen(app: TemplatedApp, port: number, host?: string): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const listening = (token: us_listen_socket | false) => {
      if (token) resolve(token)
      else reject(new StartupError(`INGEST_PORT: port ${port} is taken by another program.`))
    }
    if (host === undefined) app.listen(port, listening)
    else app.listen(host, port, listening)
  })
}
