/** The part that test/support/dns-server.ts uses; the package brings no types. */
declare module 'dns-packet' {
  interface Question {
    type: string
    name: string
  }
  interface TxtAnswer {
    type: 'TXT'
    name: string
    ttl: number
    data: string[]
  }
  export function decode(message: Buffer): { id: number; questions: Question[] }
  export function encode(packet: {
    type: 'response'
    id: number
    flags: number
    questions: Question[]
    answers: TxtAnswer[]
  }): Buffer
}
