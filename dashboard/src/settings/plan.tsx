import { Alert, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { type Answer, call } from '../api.ts'
import { useMe } from '../session.tsx'
import { AsyncView } from '../ui/async-view.tsx'
import { exactOf } from '../ui/format.ts'

type Details = Answer<'GET /v1/organization'>
type Retention = Details['retentionDays']

function daysOf(days: number | null): string {
  return days === null ? 'for ever' : `for ${days.toLocaleString('en')} days`
}

function keptInWords(kept: Retention): string {
  return `single heartbeats ${daysOf(kept.raw)}, summaries of five minutes ${daysOf(kept['5m'])}, of an hour ${daysOf(kept['1h'])}, of a day ${daysOf(kept['1d'])}`
}

function usedOf(used: number, limit: number | null, what: string): string {
  const count = used.toLocaleString('en')
  return limit === null
    ? `${count} ${what}, and any number is allowed`
    : `${count} of ${limit.toLocaleString('en')} ${what}`
}

function PlanWords({ plan, retentionDays, scheduledCut, limits, usage }: Details) {
  return (
    <Stack gap="xs">
      <Text size="sm">
        Plan <strong>{plan}</strong>, with intervals of {limits.minIntervalSeconds} seconds or more.
      </Text>
      <Text size="sm">In use: {usedOf(usage.monitors, limits.monitors, 'monitors')}.</Text>
      <Text size="sm">In use: {usedOf(usage.agents, limits.agents, 'agents and services')}.</Text>
      <Text size="sm">It keeps {keptInWords(retentionDays)}.</Text>
      {scheduledCut === null ? null : (
        <Alert color="yellow" variant="light" title="Older history is about to be deleted">
          On {exactOf(scheduledCut.at)} all that is older than this plan keeps is deleted. Until then it is only hidden,
          and comes back with the plan before: {keptInWords(scheduledCut.retentionDays)}.
        </Alert>
      )}
      <Text size="sm" c="dimmed">
        Whoever runs this installation can change the plan.
      </Text>
    </Stack>
  )
}

/** What the plan allows and keeps, what of it is used, and what is about to go. */
export function Plan() {
  const { organization } = useMe()
  const query = useQuery({
    queryKey: ['organization', organization.id],
    queryFn: ({ signal }) => call('GET /v1/organization', {}, signal)
  })
  return <AsyncView query={query}>{(details) => <PlanWords {...details} />}</AsyncView>
}
