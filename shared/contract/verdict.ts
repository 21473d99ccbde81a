import { z } from 'zod'

const repeatsField = z.number().int().min(1).max(20)
export const confirmationsField = repeatsField.meta({
  description: 'down heartbeats in a row that make the monitor down.'
})
export const recoveriesField = repeatsField.meta({ description: 'Other heartbeats in a row that end an outage.' })
export const quorumField = z
  .string()
  .regex(
    /^(any|majority|all|count:([1-9]|[1-4]\d|50))$/,
    'Say any, majority, all, or count:N with N from 1 to 50, as in count:2'
  )
  .meta({
    description:
      'How many of the agents that are online and report it have to say down for the monitor to be down: any, majority, all, or count:N (all of them when there are fewer).',
    examples: ['majority', 'count:2']
  })
export const resumeOnPingField = z.boolean().meta({
  description: 'A heartbeat that says up or degraded resumes it while it is paused; of heartbeat and push monitors.'
})
export const agentIsTargetField = z.boolean().meta({
  description:
    'It stands for the machine of its agents: when none of them is connected any more it is down, and not unknown. Of monitors that agents report.'
})
