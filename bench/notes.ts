import { FLEET } from './fleet.ts'

export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** How the figures of the report are taken. `connections`: idle ones. */
export function notes(connections: number): string {
  return `## How the figures are taken

- The load: 1,000 agents, each with a socket and ${FLEET.monitorsPerAgent} monitors of its own, among ${whole(FLEET.agents)} agents and ${whole(
    FLEET.agents * FLEET.monitorsPerAgent
  )} monitors of ${FLEET.organizations} organizations. "As fast as it goes" keeps 16 frames of each socket unacknowledged.
- Sockets are plain (\`TLS_MODE=proxy\`). The generator is a process of its own on raw TCP sockets with ready-made frames.
- *ours*: \`gateway/main.js\` and \`worker/main.js\` as they are, with authentication, validation and state. *bare*: the same
  frames through uWebSockets.js → \`JSON.parse\` → one BullMQ job per 500 heartbeats or 5 ms → binary COPY, and nothing else.
- acked: acknowledged while the load ran; the job is then in Redis and on disk. persisted: rows in the table, counted from
  the first frame until the queue is empty. A run in which acknowledged heartbeats and rows differ by one fails the bench.
- Time to the acknowledgement at a fixed rate counts from the moment a frame was due, so a stall hides nothing, not even
  one of the generator; "from the write" leaves the generator's own delay out. The first 1.5 s are not counted.
- CPU: user and system time of the process, from its \`/proc/<pid>/stat\`; for Postgres of all its processes.
- Memory: growth of the gateway's memory in use from 2,000 to ${whole(connections)} welcomed connections, divided by their number;
  in use is resident memory less the empty part of the JavaScript heap, after a garbage collection. The whole process is read
  without one, just after the last connection was opened.
- Sign-ins: a process of the bench sends reads of 100 rows and sign-ins of ten people at fixed rates, each at any moment of its
  share of the second, over connections that stay open; counted from when they were due. It shares the machine's cores. Alone
  and beside in turn, three rounds; the round with the middle ratio counts.
- States: the whole pipeline as fast as it goes, and with a worker that leaves states alone, in turn, three rounds; the round
  with the middle ratio counts.
- History: five days of ten million heartbeats, two of which a window of 24 hours touches, read as the API reads them (its role and
  policies) by the same 100 monitors twice; the second time counts.
- Dropping a day: two others read and write the other days meanwhile. It has left history when a third connection finds
  its table no more, counted from the call: by then no statement sees the day and no lock is held. PostgreSQL removes the files after
  that, while nobody waits for it but who called; that time stands beside what removing as big files, just written, takes.
- The dashboard: headless Chromium on this machine, stores of its own, an organization with 1,000 monitors and 90 days of history;
  medians of 7.
- Medians of 3 runs (frames of 10: 2, 2,000/s: 1), ours and bare in turn.`
}
